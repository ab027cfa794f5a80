"""The score below which a translation has low confidence: nearly all of the model's own
translations of validation sentences score higher.
"""

from keras_transformer.data.batching.batches import evaluation_batches
from keras_transformer.decoding.translator import Translator
from keras_transformer.models import Transformer
from keras_transformer.search.confidence import calibrated, token_score
from keras_transformer.training.run.options import TrainPlan
from keras_transformer.training.tasks.training_data import TrainingData
from keras_transformer.training.tasks.validation_translations import id_pairs, search_limits, spread


def calibrate(model: Transformer, data: TrainingData, options: TrainPlan) -> float | None:
    """Returns the model's threshold of low confidence in nats per token.

    Args:
        model: The finished model.
        data: Its validation pairs, of which `options.bleu_sentences` are translated greedily.
        options: How it was trained.

    Returns:
        None if there are no validation pairs or `options.bleu_sentences` is 0.
    """
    if data.valid is None or not options.bleu_sentences:
        return None
    batches = evaluation_batches(data.valid, options.batch_tokens)
    pairs = id_pairs(batches, model.config.special_ids)
    sources = [source for source, _ in spread(pairs, options.bleu_sentences)]
    tokenizers = data.source_tokenizer, data.target_tokenizer
    translator = Translator(model, *tokenizers, max_source_length=None)
    found = translator.translate_ids(sources, **search_limits(sources))
    return calibrated(token_score(ids, total) for [(ids, _, total)] in found)
