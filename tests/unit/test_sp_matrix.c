/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors and matrices: values computed with numpy 1.24.
 */
#include "support/call.h"

static const struct call_case matrix_cases[] = {
    {"matrix", "((0, 1), (-1, 0))", "m[[0, 1], [-1, 0]]"},
    {"matrix", "[]", "m[]"},
    {"matrix", "[[1, 2], [3]]", "error E0213: matrix: the rows of rows have different lengths"},
    {"matrix", "[[\"a\"]]",
     "error E0205: matrix: rows must be a matrix or a sequence of rows of numbers"},
    {"matrix", "3", "error E0205: matrix"},
    {"id_matrix", "2", "m[[1, 0], [0, 1]]"},
    {"id_matrix", "1e6", "error E0703: id_matrix"},
    {"zero_matrix", "1, 2", "m[[0, 0]]"},
    {"zero_matrix", "2", "m[[0, 0], [0, 0]]"},
    {"diag_matrix", "[1, 2]", "m[[1, 0], [0, 2]]"},
    {"transpose", "m[[1, 2], [3, -4], [0.25, 6]]", "m[[1, 3, 0.25], [2, -4, 6]]"},
    {"transpose", "[[1, 2]]", "m[[1], [2]]"},
    {"row", "m[[1, 2], [3, -4], [0.25, 6]], 1", "[3, -4]"},
    {"col", "m[[1, 2], [3, -4], [0.25, 6]], 1", "[2, -4, 6]"},
    {"row", "m[[1, 2], [3, -4], [0.25, 6]], 3", "error E0207: row: index 3 is out of bounds"},
    {"ravel", "m[[1, 2], [3, -4], [0.25, 6]]", "[1, 2, 3, -4, 0.25, 6]"},
    {"matrix_trace", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]]", "9"},
    {"matrix_trace", "m[[1, 2], [3, -4], [0.25, 6]]",
     "error E0213: matrix_trace: the matrix must be square, got 3 by 2"},
    {"vector_add", "v[1, 2], (3, 4)", "[4, 6]"},
    {"vector_add", "v[1], v[1, 2]", "error E0213: vector_add"},
    {"matrix_add", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]], m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]]",
     "m[[4, 2, 0], [1, 6, 2], [2, 0, 8]]"},
    {"hadamard", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]], m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]]",
     "m[[4, 1, 0], [0.25, 9, 1], [1, 0, 16]]"},
    {"scale_vector", "2, v[1, 2]", "[2, 4]"},
    {"scale_matrix", "2, m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]]",
     "m[[4, 2, 0], [1, 6, 2], [2, 0, 8]]"},
    {"vector_dot", "v[1, 7], [3, 4]", "31"},
    {"vector_dot", "[], []", "0"},
    {"vector_dot", "[1], [1, 2]",
     "error E0213: vector_dot: the vectors have different lengths: 1 and 2"},
    {"matrix_mul", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]], m[[1, 2], [3, -4], [0.25, 6]]",
     "m[[5, 0], [9.75, -5], [2, 26]]"},
    {"matrix_mul", "m[[1, 2], [3, -4], [0.25, 6]], m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]]",
     "error E0213: matrix_mul: the sizes do not fit: 3 by 2 times 3 by 3"},
    {"matrix_times_vector", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]], v[1, 7, -2]", "[9, 19.5, -7]"},
    {"vector_times_matrix", "v[1, 7, -2], m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]]", "[3.5, 22, -1]"},
    {"matrix_times_vector", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]], v[1, 2]",
     "error E0213: matrix_times_vector: the sizes do not fit: 3 by 3 times 2 by 1"},
    {"matrix_inverse", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]]",
     "m[[0.5217391304347826, -0.1739130434782609, 0.04347826086956522], [-0.04347826086956522, "
     "0.3478260869565218, -0.08695652173913045], [-0.13043478260869565, 0.04347826086956522, "
     "0.2391304347826087]]"},
    {"matrix_inverse", "m[[1, 2], [2, 4]]",
     "error E0214: matrix_inverse: the matrix is singular to working precision"},
    {"matrix_inverse", "m[[0.1, 0.2], [0.3, 0.6]]", "error E0214"},
    {"matrix_inverse", "m[[1, 2], [3, -4], [0.25, 6]]",
     "error E0213: matrix_inverse: the matrix must be square"},
    {"matrix_solve", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]], v[1, 7, -2]",
     "[-0.7826086956521741, 2.565217391304348, -0.30434782608695654]"},
    {"matrix_solve", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]], m[[1, 2], [3, -4], [0.25, 6]]",
     "m[[0.010869565217391297, 2], [0.9782608695652174, -2], [0.059782608695652176, 1]]"},
    {"matrix_solve", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]], v[1]",
     "error E0213: matrix_solve: the matrix has 3 rows, the right-hand side 1"},
    {"matrix_det", "m[[2, 1, 0], [0.5, 3, 1], [1, 0, 4]]", "23"},
    {"matrix_det", "m[[1, 2], [2, 4]]", "0"},
};

static void matrices(void **state) {
    check_cases(matrix_cases, COUNT_OF(matrix_cases));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
