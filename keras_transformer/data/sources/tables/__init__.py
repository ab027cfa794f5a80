"""Files of columns, TSV and CSV: what separates them, quotes, headers, labelled texts."""
