// A hidden Markov chain of two states.
data { int N; int K; real y[N]; }
parameters { simplex[K] theta1; simplex[K] theta2; positive_ordered[K] mu; }
model {
  matrix[K, K] log_theta;
  vector[K] at;
  log_theta[1] = log(theta1');
  log_theta[2] = log(theta2');
  mu[1] ~ normal(3, 1);
  mu[2] ~ normal(10, 1);
  for (k in 1:K) at[k] = normal_lpdf(y[1] | mu[k], 1);
  for (t in 2:N) {
    vector[K] next;
    for (k in 1:K) next[k] = log_sum_exp(at + log_theta[, k]) + normal_lpdf(y[t] | mu[k], 1);
    at = next;
  }
  target += log_sum_exp(at);
}
