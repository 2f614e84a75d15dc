// Effects of coaching in eight schools, not centred.
data { int J; vector[J] y; vector[J] sigma; }
parameters { vector[J] z; real mu; real<lower=0> tau; }
transformed parameters { vector[J] theta = mu + tau * z; }
model {
  tau ~ cauchy(0, 5);
  mu ~ normal(0, 5);
  z ~ normal(0, 1);
  y ~ normal(theta, sigma);
}
