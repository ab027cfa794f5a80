"""The four reserved token ids, the same in every vocabulary: the only place they are decided."""

PAD_ID = 0
UNK_ID = 1
BOS_ID = 2
EOS_ID = 3
