// A hidden Markov chain of two states and two measures.
data { int N; int K; real u[N]; real v[N]; matrix[K, K] alpha; }
parameters { simplex[K] theta1; simplex[K] theta2; positive_ordered[K] phi; positive_ordered[K] lambda; }
model {
  matrix[K, K] log_theta;
  vector[K] at;
  log_theta[1] = log(theta1');
  log_theta[2] = log(theta2');
  theta1 ~ dirichlet(alpha[1]');
  theta2 ~ dirichlet(alpha[2]');
  phi[1] ~ normal(0, 1);
  phi[2] ~ normal(3, 1);
  lambda[1] ~ normal(0, 1);
  lambda[2] ~ normal(3, 1);
  for (k in 1:K) at[k] = exponential_lpdf(u[1] | phi[k]) + exponential_lpdf(v[1] | lambda[k]);
  for (t in 2:N) {
    vector[K] next;
    for (k in 1:K)
      next[k] = log_sum_exp(at + log_theta[, k]) + exponential_lpdf(u[t] | phi[k]) + exponential_lpdf(v[t] | lambda[k]);
    at = next;
  }
  target += log_sum_exp(at);
}
