// Where the sentences of a batch stand among rows: one for each place, padding included, or one for
// each token, sentence after sentence.
#pragma once

#include <vector>

#include "operator.h"

namespace keras_transformer {

struct Sentence {
  int64_t start, rows;
  const int32_t* mask;  // (rows), nonzero for tokens; null if all rows are tokens
  std::vector<int32_t> places;  // (rows) of tokens with padding between them; empty if 0, 1, …
};

struct Sentences {
  std::vector<Sentence> each;  // (batch); none if they have no places
  int64_t batch, length;       // sentences, and places of each, padding included
  const int32_t* mask;         // (batch, length)

  int64_t count() const { return static_cast<int64_t>(each.size()); }
};

// Reads the mask (batch, length), an input, for a number of rows. Throws if there is neither a row for
// each place nor one for each token.
Sentences read_sentences(Context& context, size_t place, int64_t rows);

}  // namespace keras_transformer
