// One compartment, absorption of first order, Michaelis-Menten elimination.
functions {
  real[] change(real t, real[] y, real[] theta, real[] x_r, int[] x_i) {
    real dose = t > 0 ? exp(-theta[1] * t) * x_r[1] * theta[1] / x_r[2] : 0;
    return { dose - theta[3] / x_r[2] * y[1] / (theta[2] + y[1]) };
  }
}
data { real t0; real D; real V; int N_t; real times[N_t]; real C_hat[N_t]; }
transformed data { real C0[1] = {0.0}; real x_r[2] = {D, V}; }
parameters { real<lower=0> k_a; real<lower=0> K_m; real<lower=0> V_m; real<lower=0> sigma; }
model {
  real C[N_t, 1] = integrate_ode_bdf(change, C0, t0, times, {k_a, K_m, V_m}, x_r, rep_array(0, 0));
  k_a ~ cauchy(0, 1);
  K_m ~ cauchy(0, 1);
  V_m ~ cauchy(0, 1);
  sigma ~ cauchy(0, 1);
  for (n in 1:N_t) C_hat[n] ~ lognormal(log(C[n, 1]), sigma);
}
