/* SPDX-License-Identifier: Apache-2.0
 *
 * Words and names of other languages, with their equivalents here. The parser's messages and those
 * about unbound names use them. tests/cli/run_mistakes.py checks that the named equivalents
 * exist. */
#include "language/lang/elsewhere.h"

#include "base/ascii.h"
#include "base/vec.h"
#include <string.h>

/* Words that start a construct elsewhere. */
static const struct foreign {
    const char *words, *here;
} words[] = {
    {"def function fn fun func", "a procedure is written define f = proc(x) { ... }"},
    {"var const set", "a name is bound by define x = e, inside a block by let x = e"},
    {"while for", "loops are for (n = 0; n < k; n++) { ... } and repeat(k, action)"},
    {"in", "loops are for (i = 0; i < n; i++) { ... }; mapv(x -> e, xs) makes a sequence"},
    {"then", "a condition is written if (c) { a } else { b }"},
    {"elif elsif", "a condition goes on with else if (c) { ... }"},
    {"import include", "another program is run by load \"file.vnts\""},
    {"return", "the value of a procedure is its last expression: proc(x) { x + 1 }"},
};

/* Procedures by their names elsewhere, in any case. */
static const struct foreign names[] = {
    {"uniform unif runif random_uniform uniform_real", "uniform_continuous"},
    {"gaussian gauss norm rnorm dnorm randn", "normal"},
    {"exponential exponential_distribution rexp", "expon"},
    {"randint uniform_int uniform_integer discrete_uniform random_integer", "uniform_discrete"},
    {"bern coin", "flip"},
    {"cat discrete", "categorical"},
    {"random_choice choice draw", "uniform_categorical"},
    {"mvn mvnormal mvnorm multi_normal", "multivariate_normal"},
    {"multi_normal_cholesky", "multivariate_normal_cholesky"},
    {"student studentt t_distribution", "student_t"},
    {"inverse_gamma invgamma", "inv_gamma"},
    {"inverse_wishart invwishart", "inv_wishart"},
    {"chi2 chisq chi_squared", "chi_square"},
    {"log_normal", "lognormal"},
    {"nbinom negbin", "negative_binomial"},
    {"double_exponential", "laplace"},
    {"von_mises", "vonmises"},
    {"delta dirac", "exactly"},
    {"crp chinese_restaurant", "make_crp"},
    {"gp gaussian_process", "make_gp"},
    {"rbf squared_exponential sq_exp expquad exp_quad", "make_squaredexp"},
    {"matern matern52", "make_matern_52"},
    {"matern32", "make_matern_32"},
    {"periodic periodic_kernel", "make_periodic"},
    {"white_noise white noise_kernel", "make_whitenoise"},
    {"rational_quadratic", "make_rq"},
    {"memoize memo memoise cache", "mem"},
    {"len count num_elements", "size"},
    {"head car", "first"},
    {"tail cdr", "rest"},
    {"cons", "pair"},
    {"concat push extend append_array append_row", "append"},
    {"rep_vector rep_array", "fill"},
    {"dot_product", "dot"},
    {"cumulative_sum", "cumsum"},
    {"cholesky_decompose", "cholesky"},
    {"log_determinant", "log_det"},
    {"sort_asc", "sort"},
    {"ode_rk45 ode_bdf ode_adams", "ode_solve"},
    {"enumerate", "imapv"},
    {"fold", "foldl"},
    {"nothing null", "nil"},
    {"argmax which_max", "argmax_of_array"},
    {"argmin which_min", "argmin_of_array"},
    {"sigmoid expit", "logistic"},
    {"softplus", "log1p_exp"},
    {"ln", "log"},
    {"power", "pow"},
    {"sqr", "square"},
    {"ceiling", "ceil"},
    {"sign", "signum"},
    {"mod modulo remainder", "int_mod"},
    {"floordiv quotient", "int_div"},
    {"std stdev stddev", "sd"},
    {"var", "variance"},
    {"average avg", "mean"},
    {"eye identity", "id_matrix"},
    {"det", "matrix_det"},
    {"inverse", "matrix_inverse"},
    {"solve", "matrix_solve"},
    {"matmul", "matrix_mul"},
    {"println display echo puts", "print"},
    {"error throw raise stop", "value_error"},
    {"str tostring", "to_string"},
    {"yes", "true"},
    {"no", "false"},
    {"metropolis metropolis_hastings", "mh"},
    {"no_u_turn", "nuts"},
    {"hamiltonian", "hmc"},
    {"gibbs_sampling gibbs_sampler", "gibbs"},
    {"particle_gibbs conditional_smc csmc", "pgibbs"},
    {"smc particle_filter importance_resampling", "resample"},
    {"importance importance_sampling", "likelihood_weight"},
    {"advi variational vi", "meanfield"},
    {"gradient_descent sgd adam", "gradient_ascent"},
    {"elliptical_slice", "ess"},
    {"loop times", "repeat"}};

static const char *find(const struct foreign *rows, size_t n, const char *word, size_t len) {
    for (size_t i = 0; i < n; i++) {
        const char *w = rows[i].words;
        for (size_t k; *w; w += k + (w[k] == ' ')) {
            k = strcspn(w, " ");
            if (k == len && ascii_ncasecmp(w, word, k) == 0) return rows[i].here;
        }
    }
    return NULL;
}

const char *foreign_word(const char *word, size_t len) {
    return find(words, COUNT_OF(words), word, len);
}

const char *foreign_name(const char *name) {
    return find(names, COUNT_OF(names), name, strlen(name));
}
