/* Loads a SavedModel as TensorFlow Serving does, through TensorFlow's C API and without Python, and
 * runs one signature.
 *
 *     serve MODEL LIBRARY INPUT OUTPUT < rows > results
 *
 * MODEL is a version's directory, LIBRARY the file with operators from outside TensorFlow, or "-".
 * INPUT and OUTPUT name tensors as the signature does ("serving_default_text:0"). Standard input
 * holds a row a line: a text, or numbers between spaces, whichever INPUT takes. Each row of OUTPUT
 * becomes a line, again of text or of numbers.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tensorflow/c/c_api.h>
#include <tensorflow/c/tf_tstring.h>

enum { MAX_ROWS = 1024, MAX_NUMBERS = 4096, MAX_LINE = 1 << 20 };

static TF_Status *status;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void check(const char *what) {
  if (TF_GetCode(status) != TF_OK) fail(what, TF_Message(status));
}

static void load_operators(const char *library) {
  if (strcmp(library, "-") == 0) return;
  TF_Library *handle = TF_LoadLibrary(library, status);
  check(library);
  TF_DeleteLibraryHandle(handle); /* The operators stay. */
}

static TF_Session *load_model(const char *model, TF_Graph *graph) {
  const char *tags[] = {"serve"};
  TF_SessionOptions *options = TF_NewSessionOptions();
  TF_Session *session =
      TF_LoadSessionFromSavedModel(options, NULL, model, tags, 1, graph, NULL, status);
  check(model);
  TF_DeleteSessionOptions(options);
  return session;
}

/* Finds "operation:index". */
static TF_Output find_tensor(TF_Graph *graph, const char *name) {
  char operation[256];
  const char *colon = strrchr(name, ':');
  if (colon == NULL || (size_t)(colon - name) >= sizeof operation) fail(name, "no tensor's name");
  memcpy(operation, name, colon - name);
  operation[colon - name] = '\0';
  TF_Output found = {TF_GraphOperationByName(graph, operation), atoi(colon + 1)};
  if (found.oper == NULL) fail(name, "not in the graph");
  return found;
}

static int read_lines(char **lines) {
  static char line[MAX_LINE];
  int rows = 0;
  for (; fgets(line, sizeof line, stdin) != NULL; rows++) {
    if (rows == MAX_ROWS) fail("standard input", "too many rows");
    line[strcspn(line, "\n")] = '\0';
    lines[rows] = strdup(line);
  }
  return rows;
}

static TF_Tensor *as_strings(char **lines, int64_t rows) {
  TF_Tensor *tensor = TF_AllocateTensor(TF_STRING, &rows, 1, rows * sizeof(TF_TString));
  TF_TString *strings = TF_TensorData(tensor);
  for (int64_t row = 0; row < rows; row++) {
    TF_StringInit(&strings[row]);
    TF_StringCopy(&strings[row], lines[row], strlen(lines[row]));
  }
  return tensor;
}

/* Pads the rows with 0 to the longest. */
static TF_Tensor *as_numbers(char **lines, int64_t rows) {
  static int32_t numbers[MAX_ROWS][MAX_NUMBERS];
  int64_t shape[] = {rows, 0};
  for (int64_t row = 0; row < rows; row++) {
    int64_t count = 0;
    for (char *word = strtok(lines[row], " "); word != NULL; word = strtok(NULL, " ")) {
      if (count == MAX_NUMBERS) fail("standard input", "too many numbers");
      numbers[row][count++] = (int32_t)strtol(word, NULL, 10);
    }
    if (count > shape[1]) shape[1] = count;
  }
  TF_Tensor *tensor = TF_AllocateTensor(TF_INT32, shape, 2, rows * shape[1] * sizeof(int32_t));
  int32_t *data = TF_TensorData(tensor);
  for (int64_t row = 0; row < rows; row++)
    memcpy(data + row * shape[1], numbers[row], shape[1] * sizeof(int32_t));
  return tensor;
}

static void print_strings(TF_Tensor *tensor) {
  const TF_TString *strings = TF_TensorData(tensor);
  for (int64_t row = 0; row < TF_Dim(tensor, 0); row++) {
    fwrite(TF_StringGetDataPointer(&strings[row]), 1, TF_StringGetSize(&strings[row]), stdout);
    putchar('\n');
  }
}

static void print_numbers(TF_Tensor *tensor) {
  const int32_t *data = TF_TensorData(tensor);
  int64_t width = TF_Dim(tensor, 1);
  for (int64_t row = 0; row < TF_Dim(tensor, 0); row++) {
    for (int64_t place = 0; place < width; place++)
      printf(place ? " %d" : "%d", data[row * width + place]);
    putchar('\n');
  }
}

int main(int count, char **arguments) {
  static char *lines[MAX_ROWS];
  if (count != 5) fail("usage", "serve MODEL LIBRARY INPUT OUTPUT < rows");
  status = TF_NewStatus();
  load_operators(arguments[2]);
  TF_Graph *graph = TF_NewGraph();
  TF_Session *session = load_model(arguments[1], graph);
  TF_Output input = find_tensor(graph, arguments[3]);
  TF_Output output = find_tensor(graph, arguments[4]);

  int rows = read_lines(lines);
  int is_text = TF_OperationOutputType(input) == TF_STRING;
  TF_Tensor *given = is_text ? as_strings(lines, rows) : as_numbers(lines, rows);
  TF_Tensor *found = NULL;
  TF_SessionRun(session, NULL, &input, &given, 1, &output, &found, 1, NULL, 0, NULL, status);
  check(arguments[4]);
  if (TF_TensorType(found) == TF_STRING)
    print_strings(found);
  else if (TF_TensorType(found) == TF_INT32 && TF_NumDims(found) == 2)
    print_numbers(found);
  else
    fail(arguments[4], "neither texts nor rows of numbers");

  TF_CloseSession(session, status);
  check("close");
  TF_DeleteSession(session, status);
  TF_DeleteGraph(graph);
  return 0;
}
