"""Pictures of single features: those of a query and of a key, and their products, whose sum is the
score (Vig 2019, "Deconstructing BERT, part 2").
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from keras_transformer.plotting.style import SIGNED_MAP, new_figure, styled


@dataclass(frozen=True)
class ComparedTokens:
    """What one layer's heads compare for a pair of tokens.

    Attributes:
        query_token: The token that looks.
        key_token: The token that is looked at.
        queries: float `(heads, key_dim)`.
        keys: float `(heads, key_dim)`.
    """

    query_token: str
    key_token: str
    queries: npt.NDArray[np.floating]
    keys: npt.NDArray[np.floating]

    @property
    def products(self) -> npt.NDArray[np.floating]:
        """The products of features, `(heads, key_dim)`."""
        return self.queries * self.keys

    @property
    def scores(self) -> npt.NDArray[np.floating]:
        """The scores before the softmax, `(heads,)`: sums of products, divided by √key_dim."""
        scores: npt.NDArray[np.floating] = self.products.sum(-1) / np.sqrt(self.keys.shape[-1])
        return scores


@styled
def query_key_features(pair: ComparedTokens) -> Figure:
    """Draws the features of q, of k and of q × k, a panel for each head with its score."""
    heads, features = pair.queries.shape
    figure = new_figure(max(5, 0.1 * features + 3), 0.85 * heads + 1.4)
    grid = figure.subplots(heads, 1, sharex=True, squeeze=False)[:, 0]
    products, scores = pair.products, pair.scores
    highest = max(float(abs(one).max()) for one in (pair.queries, pair.keys, products)) or 1
    for head, axes in enumerate(grid):
        axes.grid(False)
        strips = np.stack([pair.queries[head], pair.keys[head], products[head]])
        image = axes.imshow(strips, cmap=SIGNED_MAP, vmin=-highest, vmax=highest, aspect="auto")
        axes.set_yticks(range(3), ["q", "k", "q × k"])
        axes.set_title(f"head {head + 1}: Σ q × k / √{features} = {scores[head]:.2f}", fontsize=8)
    grid[-1].set_xlabel("feature")
    figure.suptitle(f"“{pair.query_token}” looks at “{pair.key_token}”")
    figure.colorbar(image, ax=grid, label="value")
    return figure
