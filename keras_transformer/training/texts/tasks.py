"""The tasks on single texts, as values: what family and head each trains, and on what rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.data.encoding.sentence_pairs import encode_sentence_pairs
from keras_transformer.data.encoding.single_texts import (
    EncodedTexts,
    encode_for_decoder,
    encode_for_encoder,
    encode_packed,
)
from keras_transformer.data.encoding.stream import EncodedStream, encode_stream
from keras_transformer.data.encoding.tagged import encode_tagged
from keras_transformer.data.encoding.text_pairs import encode_text_pairs
from keras_transformer.data.objectives.denoising import Denoising
from keras_transformer.data.objectives.labels import Classes, LabelSets, Scores, Tags
from keras_transformer.data.objectives.masked_tokens import MaskedTokens
from keras_transformer.data.objectives.next_sentence import NextSentence
from keras_transformer.data.objectives.next_token import NextToken
from keras_transformer.data.objectives.objective import Objective
from keras_transformer.data.objectives.permutation import Permutation
from keras_transformer.data.objectives.phrases import PhraseTree
from keras_transformer.data.objectives.prefix_continuation import PrefixContinuation
from keras_transformer.data.objectives.same_meaning import SameMeaning
from keras_transformer.data.objectives.span_corruption import SpanCorruption
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.tagged import TaggedCorpus, TaggedTexts
from keras_transformer.data.sources.texts import (
    LabelledCorpus,
    LabelledTexts,
    ScoredCorpus,
    TextCorpus,
    Texts,
    names_in,
)
from keras_transformer.text.subwords.interface import words_in_text
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.texts.options import TextOptions

TextTaskName = Literal[
    "masked-lm", "permutation-lm", "causal-lm", "classify", "rerank", "tag", "embed", "denoising"
]
AnyCorpus = TextCorpus | LabelledCorpus | ScoredCorpus | TaggedCorpus | Corpus | PreparedCorpus


@dataclass(frozen=True)
class TextKind:
    """The settings in which the tasks on single texts differ.

    Attributes:
        family: The class of the model's config.
        corpus: The class of its texts that are not prepared.
        has_mask: Whether the vocabulary needs a mask.
        has_scores: Whether labels are scores.
        has_in_batch_negatives: Whether each row of a batch is compared with the others.
        head: Takes the corpus and options and returns the config's fields that describe the model's
            output.
        encode: Takes texts, tokenizer, config, longest row and options and returns rows.
        objective: For prepared texts: takes tokenizer, config and options and returns a function
            that makes batches of rows; None if the task's texts cannot be prepared.
        begins_with: Name of the special id before each of them.
    """

    family: Any
    head: Callable[[Any, TextOptions], dict[str, Any]]
    encode: Callable[[Any, Tokenizer, Any, int, TextOptions], EncodedTexts | EncodedStream]
    objective: Callable[[Tokenizer, Any, TextOptions], Objective] | None = None
    begins_with: Literal["bos", "decoder_start"] = "bos"
    corpus: type = TextCorpus
    has_mask: bool = False
    has_scores: bool = False
    has_in_batch_negatives: bool = False


def _masked_tokens(
    tokenizer: Tokenizer, config: EncoderConfig, options: TextOptions
) -> MaskedTokens:
    subwords, phrases = tokenizer.subwords, options.read_phrases()
    # As they stand at the beginning of a text, and behind a space.
    forms = [phrases, [words_in_text(("", one), subwords)[1] for one in phrases]]
    first, inside = map(tokenizer.encode, forms)
    return MaskedTokens(
        config.special_ids,
        config.vocab_size,
        config.num_token_types > 1,
        unit=options.masking,
        begins_word=tuple(map(subwords.begins_word, range(config.vocab_size))),
        phrases=PhraseTree.of(first, config.vocab_size, inside) if phrases else None,
    )


def _mask(
    texts: Texts, tokenizer: Tokenizer, config: EncoderConfig, length: int, options: TextOptions
) -> EncodedTexts:
    objective = _masked_tokens(tokenizer, config, options)
    encoded: EncodedTexts
    if options.next_sentence:
        if config.pair_separators > 1:
            raise ValueError(
                "next_sentence needs pair_separators=1, with which token types tell the second "
                f"sentence from the first, got {config.pair_separators}."
            )
        encoded = encode_sentence_pairs(texts, tokenizer, NextSentence(objective), length)
    else:
        encoded = encode_for_encoder(texts, tokenizer, objective, length)
    if objective.phrases is not None:
        found, count = objective.count_phrases(encoded.rows.values), len(options.read_phrases())
        print(f"phrases: {found:,} of {count:,} are in {texts.origin}")
    return encoded


def _masked_head(corpus: TextCorpus, options: TextOptions) -> dict[str, Any]:
    return {"head": "pretraining" if options.next_sentence else "masked_lm", "labels": ()}


def _permutation(tokenizer: Tokenizer, config: EncoderConfig, options: TextOptions) -> Permutation:
    return Permutation(config.special_ids, config.num_token_types > 1, options.partial_prediction)


def _permute(
    texts: Texts, tokenizer: Tokenizer, config: EncoderConfig, length: int, options: TextOptions
) -> EncodedTexts:
    return encode_for_encoder(texts, tokenizer, _permutation(tokenizer, config, options), length)


def _query_head(corpus: TextCorpus, options: TextOptions) -> dict[str, Any]:
    return {"head": "masked_lm", "query_stream": True, "labels": ()}


def _next_token(tokenizer: Tokenizer, config: DecoderConfig, options: TextOptions) -> Objective:
    return NextToken(config.special_ids, config.reads_backward)


def _direction(corpus: TextCorpus, options: TextOptions) -> dict[str, Any]:
    return {} if options.direction is None else {"direction": options.direction}


def _follow(
    texts: Texts, tokenizer: Tokenizer, config: DecoderConfig, length: int, options: TextOptions
) -> EncodedTexts | EncodedStream:
    objective = NextToken(config.special_ids, config.reads_backward)
    if options.packing == "stream" and config.memory_length is not None:
        return encode_stream(texts, tokenizer, length)
    if options.packing == "none":
        return encode_for_decoder(texts, tokenizer, objective, length)
    across = options.packing == "stream"
    return encode_packed(texts, tokenizer, objective, length, across_documents=across)


def _classify(
    texts: LabelledTexts,
    tokenizer: Tokenizer,
    config: EncoderConfig,
    length: int,
    options: TextOptions,
) -> EncodedTexts:
    del options
    objective: Objective = Classes(config.num_token_types > 1)
    classes = config.labels
    if texts.multi_label:
        # Each set of labels is a class, by the string that spells it.
        classes = tuple(dict.fromkeys(texts.labels))
        named = (names_in(one) for one in classes)
        sets = tuple(tuple(int(label in one) for label in config.labels) for one in named)
        objective = LabelSets(config.num_token_types > 1, sets)
    return _encode_labelled(texts, tokenizer, config, length, objective, classes)


def _encode_labelled(
    texts: LabelledTexts,
    tokenizer: Tokenizer,
    config: EncoderConfig,
    length: int,
    objective: Objective,
    classes: Sequence[str],
) -> EncodedTexts:
    return encode_for_encoder(
        texts,
        tokenizer,
        objective,
        length,
        classes,
        config.pair_separators,
        by_words=bool(config.features),
    )


def _class_head(corpus: LabelledCorpus, options: TextOptions) -> dict[str, Any]:
    several = {"multi_label": True} if corpus.train.multi_label else {}
    features = options.feature_configs()
    return {
        "head": "classification",
        "labels": corpus.train.classes,
        "features": features,
        **several,
    }


def _score(
    texts: LabelledTexts,
    tokenizer: Tokenizer,
    config: EncoderConfig,
    length: int,
    options: TextOptions,
) -> EncodedTexts:
    del options
    # A score is a class, by its spelling; a blank line has none, and is dropped.
    classes = tuple(dict.fromkeys(texts.labels))
    scores = tuple(float(label or 0) for label in classes)
    objective = Scores(config.num_token_types > 1, scores)
    return _encode_labelled(texts, tokenizer, config, length, objective, classes)


def _score_head(corpus: ScoredCorpus, options: TextOptions) -> dict[str, Any]:
    del corpus, options
    return {"head": "regression", "labels": (), "value_activation": "sigmoid"}


def _tag(
    texts: TaggedTexts,
    tokenizer: Tokenizer,
    config: EncoderConfig,
    length: int,
    options: TextOptions,
) -> EncodedTexts:
    del options
    return encode_tagged(texts, tokenizer, Tags(config.num_token_types > 1), length, config.labels)


def _tag_head(corpus: TaggedCorpus, options: TextOptions) -> dict[str, Any]:
    features = options.feature_configs()
    labels = corpus.train.classes
    return {"head": "tagging", "labels": labels, "crf": options.crf, "features": features}


def _embed(
    texts: Pairs, tokenizer: Tokenizer, config: EncoderConfig, length: int, options: TextOptions
) -> EncodedTexts:
    del options
    objective = SameMeaning(config.special_ids.pad, config.num_token_types > 1)
    return encode_text_pairs(texts, tokenizer, objective, length)


def _denoising(tokenizer: Tokenizer, config: TransformerConfig, options: TextOptions) -> Objective:
    if options.denoising == "sentinels":
        return SpanCorruption(config.special_ids, tokenizer.sentinel_ids)
    if options.denoising == "prefix":
        return PrefixContinuation(config.special_ids)
    return Denoising(config.special_ids)


def _denoise(
    texts: Texts, tokenizer: Tokenizer, config: TransformerConfig, length: int, options: TextOptions
) -> EncodedTexts:
    return encode_for_decoder(texts, tokenizer, _denoising(tokenizer, config, options), length)


KINDS: dict[str, TextKind] = {
    "masked-lm": TextKind(
        EncoderConfig,
        _masked_head,
        _mask,
        objective=_masked_tokens,
        has_mask=True,
    ),
    "permutation-lm": TextKind(
        EncoderConfig,
        _query_head,
        _permute,
        objective=_permutation,
        has_mask=True,
    ),
    "causal-lm": TextKind(
        DecoderConfig,
        _direction,
        _follow,
        objective=_next_token,
        begins_with="decoder_start",
    ),
    "classify": TextKind(
        EncoderConfig,
        _class_head,
        _classify,
        corpus=LabelledCorpus,
    ),
    "rerank": TextKind(
        EncoderConfig,
        _score_head,
        _score,
        corpus=ScoredCorpus,
        has_scores=True,
    ),
    "tag": TextKind(
        EncoderConfig,
        _tag_head,
        _tag,
        corpus=TaggedCorpus,
    ),
    "embed": TextKind(
        EncoderConfig,
        lambda corpus, options: {"head": "embedding", "labels": ()},
        _embed,
        corpus=Corpus,
        has_in_batch_negatives=True,
    ),
    "denoising": TextKind(
        TransformerConfig,
        lambda corpus, options: {},
        _denoise,
        objective=_denoising,
        begins_with="decoder_start",
        has_mask=True,
    ),
}
