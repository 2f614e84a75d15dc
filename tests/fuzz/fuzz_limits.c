/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of limits: programs of walks over shared structures, of loads, of numbers and
 * processes of any size, made of the bytes, run within a second and 200 MB. Without sanitizers a
 * program may take twice of each, by its CPU time and its largest size. Run: fuzz_limits
 * -timeout=20 corpus/limits
 */
#include "base/mem.h"
#include "gpmem/gpmem.h"
#include "scratch.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAMES = 6, LINES = 12, FILES = 3 };
static const size_t max_memory = (size_t)200 << 20;

/* A and B are names of values, N a number, C the name that a line defines, F a file. */
static const char *const lines[] = {
    "define C = array(A, B);",
    "define C = list(A, B);",
    "define C = pair(A, B);",
    "define C = dict(array(A, N), array(B, 1));",
    "define C = twice(N, A);",
    "define C = deep(N, A);",
    "define C = linspace(0, 1, N);",
    "define C = fill(N, A);",
    "define C = mapv(proc(i) { normal(0, i + 1) }, arange(N));",
    "define C = id_matrix(N);",
    "define C = convolve(linspace(0, 1, N), linspace(0, 1, N));",
    "define C = flatten(array(A, B));",
    "define C = sort(array(A, B));",
    "define C = outer(linspace(0, 1, N), linspace(0, 1, N));",
    "define C = matrix_mul(id_matrix(N), id_matrix(N));",
    "define C = cholesky(id_matrix(N));",
    "define C = eigenvalues_sym(id_matrix(N));",
    "define C = matrix_inverse(id_matrix(N));",
    "define C = append(A, B);",
    "define C = zip(array(A, B));",
    "define C = string_concat(to_string(A), to_string(B));",
    "define C = repeat(N, A);",
    "define C = cumsum(A);",
    "define C = ravel(A);",
    "sample A;",
    "sample A == B;",
    "sample A < B;",
    "sample keys(dict(array(A, B)));",
    "sample size(to_string(A));",
    "sample sum(A);",
    "sample lookup(dict(array(A, 1)), B);",
    "assume C = mem(proc(z) { normal(0, 1) })(A);",
    "assume C = array(A, normal(0, 1), B);",
    "assume C = proc() { array(A, normal(0, 1)) };",
    "observe normal(N, 1) = 2;",
    "infer collect(A);",
    "infer mh(default, one, N);",
    "infer nuts(default, all, 3);",
    "infer resample(N);",
    "infer do(mh(default, one, 3), collect(A, B));",
    "infer mapv(i -> A, arange(N));",
    "assume C = make_gp(0, make_squaredexp(1, 1))(linspace(0, 9, N));",
    "assume C = gpmem(proc(u) { u }, make_squaredexp(1, 1));",
    "assume C = multivariate_normal(zeros(N), id_matrix(N));",
    "sample hypergeometric(N, N, N);",
    "sample wishart(N, id_matrix(N));",
    "sample binomial(N, 0.3) + poisson(N) + multinomial(N, array(0.5, 0.5));",
    "sample foldl(proc(a, b) { array(a, b) }, A, arange(N));",
    "sample explain(A);",
    "print(A, B);",
    "freeze(C);",
    "forget(C);",
    "load \"F\";",
};

static const char *const first =
    "define twice = proc(n, x) { if (n <= 0) { x } else { twice(n - 1, array(x, x)) } };\n"
    "define deep = proc(n, x) { if (n <= 0) { x } else { deep(n - 1, array(x)) } };\n"
    "define a = array(1, 2); define b = array(1, 2); define c = \"text\"; define d = 3;\n"
    "define e = vector(1, 2); define f = list(1, array(2));\n";

struct input {
    const uint8_t *at;
    size_t left;
};

static unsigned next(struct input *in) {
    return in->left ? in->left--, *in->at++ : 0;
}

static void put_line(struct input *in, FILE *out) {
    static const char *const numbers[] = {"1",    "2",     "7",      "40",  "300",
                                          "2000", "20000", "300000", "1e9", "1e15"};
    const char *line = lines[next(in) % COUNT_OF(lines)];
    for (const char *s = line; *s; s++) {
        bool word = (s == line || !((s[-1] | 32) >= 'a' && (s[-1] | 32) <= 'z')) &&
                    !((s[1] | 32) >= 'a' && (s[1] | 32) <= 'z');
        if (word && strchr("ABC", *s))
            fputc('a' + (int)(next(in) % NAMES), out);
        else if (word && *s == 'N')
            fputs(numbers[next(in) % COUNT_OF(numbers)], out);
        else if (word && *s == 'F')
            fprintf(out, "file%u.vnts", next(in) % FILES);
        else
            fputc(*s, out);
    }
    fputc('\n', out);
}

static void put_file(struct input *in, const char *name) {
    FILE *f = fopen(scratch(name), "w");
    if (!f) abort();
    for (size_t n = next(in) % 4 + 1; n && in->left; n--) put_line(in, f);
    fclose(f);
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t most_held(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (size_t)u.ru_maxrss * 1024;
}

static void ignore(void *user, int stream, const char *text, size_t len) {
    (void)user, (void)stream, (void)text, (void)len;
}

static void run(gpm_session *s, const char *text) {
    size_t held = mem_held(SIZE_MAX), before = most_held();
    double start = cpu_seconds();
    enum gpm_status st = gpm_run_text(s, scratch("program"), text, strlen(text));
    double took = cpu_seconds() - start;
    if (st == GPM_E_USER && gpm_last_error(s)[0] == '\0') abort(); /* failure without a word */
#if defined(NDEBUG)
    size_t most = most_held();
    if (took > 2 || (most > before && most > held + 2 * max_memory)) {
        fprintf(stderr, "%.1f s, %zu MB: %s", took, (most - held) >> 20, text);
        abort();
    }
#else
    (void)took, (void)held, (void)before;
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, size};
    struct gpm_options o;
    char name[24], *text = NULL;
    size_t len;
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "file%d.vnts", i);
        put_file(&in, name);
    }
    gpm_options_init(&o);
    o.max_seconds = 1;
    o.max_memory = max_memory;
    o.write = ignore;
    gpm_session *s = gpm_session_new(&o);
    run(s, first);
    for (int i = 0; i < LINES && in.left; i++) { /* a line that fails does not end the others */
        FILE *f = open_memstream(&text, &len);
        if (!f) abort();
        put_line(&in, f);
        fclose(f);
        run(s, text);
        free(text);
    }
    gpm_session_free(s);
    return 0;
}
