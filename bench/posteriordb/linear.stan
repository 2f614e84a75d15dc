// Linear regression with flat coefficients; scale > 0: sigma is half Cauchy of that scale, else flat, too.
data { int N; int D; matrix[N, D] X; vector[N] y; real scale; }
parameters { vector[D] beta; real<lower=0> sigma; }
model {
  if (scale > 0) sigma ~ cauchy(0, scale);
  y ~ normal(X * beta, sigma);
}
