/* SPDX-License-Identifier: Apache-2.0
 *
 * Every diagnostic code: X(enum name, printed code, title). tests/golden holds at least one bad
 * program per code. E01: text; E02: names, calls and values; E04: directives; E05: inference;
 * E06: Gaussian processes and gpmem; E07: files, permissions, limits.
 */
#ifndef LANG_DIAG_CODES_H
#define LANG_DIAG_CODES_H

#define DIAG_CODES(X)                                                                              \
    X(DIAG_BAD_ENCODING, "E0101", "the text is not valid UTF-8 or holds a NUL byte")               \
    X(DIAG_BAD_CHARACTER, "E0102", "a character that starts no token")                             \
    X(DIAG_UNTERMINATED_STRING, "E0103", "a string without its closing quote")                     \
    X(DIAG_BAD_ESCAPE, "E0104", "an unknown escape in a string")                                   \
    X(DIAG_UNTERMINATED_COMMENT, "E0105", "a block comment without its end")                       \
    X(DIAG_BAD_NUMBER, "E0106", "a malformed number")                                              \
    X(DIAG_UNEXPECTED_TOKEN, "E0107", "a token that cannot stand here")                            \
    X(DIAG_UNCLOSED, "E0108", "a bracket that is never closed")                                    \
    X(DIAG_UNOPENED, "E0109", "a closing bracket without its opening one")                         \
    X(DIAG_MISSING_ELSE, "E0110", "an if without else")                                            \
    X(DIAG_TOO_DEEP, "E0111", "nesting beyond the limit")                                          \
    X(DIAG_BAD_BINDER, "E0112", "a binding where none can stand")                                  \
    X(DIAG_BAD_KEYWORD_ARG, "E0113", "a keyword argument twice")                                   \
    X(DIAG_DUPLICATE_PARAM, "E0114", "two parameters of one name")                                 \
    X(DIAG_BAD_RANGE, "E0115", "an ellipsis that makes no range")                                  \
    X(DIAG_BAD_QUOTE, "E0116", "quoting that cannot be understood")                                \
    X(DIAG_MISSING_SEPARATOR, "E0117", "two statements without ; between them")                    \
    X(DIAG_UNBOUND, "E0201", "a name that is not bound")                                           \
    X(DIAG_NOT_PROCEDURE, "E0202", "applying something that is not a procedure")                   \
    X(DIAG_ARITY, "E0203", "wrong number of arguments")                                            \
    X(DIAG_UNKNOWN_KEYWORD, "E0204", "an unknown keyword argument")                                \
    X(DIAG_TYPE, "E0205", "an argument of the wrong type")                                         \
    X(DIAG_DOMAIN, "E0206", "a parameter outside its domain")                                      \
    X(DIAG_INDEX, "E0207", "an index out of bounds")                                               \
    X(DIAG_KEY, "E0208", "a key that is not in the dictionary")                                    \
    X(DIAG_EMPTY, "E0209", "an element of an empty sequence")                                      \
    X(DIAG_VALUES_COUNT, "E0210", "wrong number of values to take apart")                          \
    X(DIAG_LETREC_EARLY, "E0211", "a letrec name used before it has a value")                      \
    X(DIAG_CONDITION, "E0212", "a condition that is neither boolean nor number")                   \
    X(DIAG_SHAPE, "E0213", "matrices or vectors whose sizes do not fit")                           \
    X(DIAG_SINGULAR, "E0214", "a matrix that cannot be inverted")                                  \
    X(DIAG_ZERO_DIVISION, "E0215", "integer division by zero")                                     \
    X(DIAG_USER_ERROR, "E0216", "an error raised by the program itself")                           \
    X(DIAG_ASSERT, "E0217", "a failed assertion")                                                  \
    X(DIAG_NO_DENSITY, "E0218", "a procedure without a density")                                   \
    X(DIAG_MEMO_LOOP, "E0219", "a memoized call that needs itself")                                \
    X(DIAG_RECURSION, "E0220", "recursion beyond the limit")                                       \
    X(DIAG_NAN, "E0221", "a computation that gave NaN where it cannot be")                         \
    X(DIAG_NO_STATS, "E0222", "statistics of a procedure that keeps none")                         \
    X(DIAG_ODE, "E0223", "a differential equation that could not be solved")                       \
    X(DIAG_UNUSED, "E0224", "a name or rows that are never used")                                  \
    X(DIAG_DUPLICATE_NAME, "E0401", "assuming a name that is bound already")                       \
    X(DIAG_DUPLICATE_LABEL, "E0402", "a label that is in use")                                     \
    X(DIAG_UNKNOWN_LABEL, "E0403", "a label that does not exist")                                  \
    X(DIAG_OBSERVE_DETERMINISTIC, "E0404", "constraining something that is not random")            \
    X(DIAG_OBSERVE_TWICE, "E0405", "constraining one choice twice")                                \
    X(DIAG_OBSERVE_PROPAGATE, "E0406", "an observed value that cannot be propagated")              \
    X(DIAG_NOT_ACTION, "E0407", "a value where an inference action is needed")                     \
    X(DIAG_ACTION_IN_MODEL, "E0408", "an inference action inside a model expression")              \
    X(DIAG_FORGET_IN_USE, "E0409", "forgetting something that others still use")                   \
    X(DIAG_NAME_LENT, "E0410", "giving a name that a model reads another meaning")                 \
    X(DIAG_UNKNOWN_SCOPE, "E0501", "a scope that no tag names")                                    \
    X(DIAG_UNKNOWN_BLOCK, "E0502", "a block that does not exist")                                  \
    X(DIAG_NOT_ENUMERABLE, "E0503", "enumerating a choice that has no finite list of values")      \
    X(DIAG_NOT_CONTINUOUS, "E0504", "an operator for continuous choices on another kind")          \
    X(DIAG_NO_GRADIENT, "E0505", "a gradient through a procedure that has none")                   \
    X(DIAG_NO_BOUND, "E0506", "rejection without a bound on the density")                          \
    X(DIAG_DEFAULT_BLOCK, "E0507", "a block of the scope default that it does not have")           \
    X(DIAG_IMPOSSIBLE, "E0508", "no state of positive probability was found")                      \
    X(DIAG_PARTICLES, "E0509", "a directive that cannot run for each particle")                    \
    X(DIAG_BAD_PROPOSAL, "E0510", "a custom proposal that gave an unusable value")                 \
    X(DIAG_CALLBACK, "E0512", "a callback that is not bound or failed")                            \
    X(DIAG_BAD_OPERATOR_ARG, "E0511", "an argument that the operator cannot use")                  \
    X(DIAG_SLOW, "E0513", "a sampler that does not follow the posterior")                          \
    X(DIAG_IMPROPER, "E0514", "a proposal from an improper prior")                                 \
    X(DIAG_NO_CHOICE, "E0515", "an observation that depends on no choice")                         \
    X(DIAG_DRAWN_ONCE, "E0516", "a draw of the program that the model reads")                      \
    X(DIAG_KERNEL, "E0601", "something that is not a kernel where one is needed")                  \
    X(DIAG_GP_LENGTH, "E0602", "inputs and outputs of different number")                           \
    X(DIAG_GP_DIMENSION, "E0603", "inputs of different dimension")                                 \
    X(DIAG_GP_NUMERIC, "E0604", "a covariance matrix that is not positive definite")               \
    X(DIAG_GP_CONTRADICTION, "E0605", "two outputs at one input without noise")                    \
    X(DIAG_SOURCE_FAILED, "E0606", "a source function that failed")                                \
    X(DIAG_KERNEL_TEXT, "E0607", "kernel text that cannot be read")                                \
    X(DIAG_STORE, "E0608", "a memo store that cannot be used")                                     \
    X(DIAG_QUERY, "E0609", "a structure query that cannot be read")                                \
    X(DIAG_FILE, "E0701", "a file that cannot be read or written")                                 \
    X(DIAG_DENIED, "E0702", "something that needs a permission flag")                              \
    X(DIAG_LIMIT, "E0703", "a limit that was reached")                                             \
    X(DIAG_INTERRUPTED, "E0704", "interrupted")                                                    \
    X(DIAG_DATA, "E0705", "data that cannot be used")                                              \
    X(DIAG_INTERNAL, "E0706", "an error of the program itself")
#endif
