// Counts whose logarithmic rates are a Gaussian process.
data { int N; real x[N]; int k[N]; }
parameters { real<lower=0> rho; real<lower=0> alpha; vector[N] z; }
transformed parameters {
  vector[N] f;
  {
    matrix[N, N] K = cov_exp_quad(x, alpha, rho) + diag_matrix(rep_vector(1e-10, N));
    f = cholesky_decompose(K) * z;
  }
}
model {
  rho ~ gamma(25, 4);
  alpha ~ normal(0, 2);
  z ~ normal(0, 1);
  k ~ poisson_log(f);
}
