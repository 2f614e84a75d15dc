#!/usr/bin/python3
"""docs/distributions.md against Stan's functions reference and against our tables: every distribution of Stan stands in
one of its two tables, what the first one names here runs, and every distribution of numbers of ours is on the page."""
import json, os, re, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "distributions.md")
STAN = """bernoulli bernoulli_logit bernoulli_logit_glm binomial binomial_logit binomial_logit_glm beta_binomial hypergeometric
categorical categorical_logit categorical_logit_glm discrete_range ordered_logistic ordered_logistic_glm ordered_probit
neg_binomial neg_binomial_2 neg_binomial_2_log neg_binomial_2_log_glm poisson poisson_log poisson_log_glm beta_neg_binomial
multinomial multinomial_logit dirichlet_multinomial normal std_normal normal_id_glm exp_mod_normal skew_normal student_t cauchy
double_exponential logistic gumbel skew_double_exponential lognormal chi_square inv_chi_square scaled_inv_chi_square exponential
gamma inv_gamma weibull frechet rayleigh loglogistic pareto pareto_type_2 wiener beta beta_proportion von_mises uniform
multi_normal multi_normal_prec multi_normal_cholesky multi_gp multi_gp_cholesky multi_student_t multi_student_t_cholesky
gaussian_dlm_obs dirichlet lkj_corr lkj_corr_cholesky wishart wishart_cholesky inv_wishart inv_wishart_cholesky hmm_marginal""".split()

bad = []
with open(PAGE, encoding="utf-8") as f: text = f.read()
table, left_out = text.split("| Stan | here | remarks |")[1].split("Left out:")
names = set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in (table + left_out).splitlines() if line.count("|") > 2)))
bad += ["Stan's %s is in neither table" % s for s in STAN if s not in names]

calls = [c for line in table.splitlines() if line.startswith("| ") for c in re.findall(r"`([^`]+)`", line.split("|")[2])]
defines = re.search(r"```venture names\n(.*?)```", text, re.S).group(1)
with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write(defines + "".join("%s;\n" % c for c in calls))
r = subprocess.run([TOOL, "run", "--seed", "1", f.name], capture_output=True, text=True, timeout=120)
os.unlink(f.name)
if r.returncode: bad.append(r.stderr)
elif len(r.stdout.strip().splitlines()) < len(calls): bad.append("not every call gives a value")

rows = json.loads(subprocess.run([TOOL, "reference"], capture_output=True, text=True, check=True).stdout)
random = [r["name"] for r in rows if r["kind"] == "random" and re.search(r"-> (real|positive|nonneg|probability|count|bool|number)$", r["signature"])]
known = set(re.findall(r"\w+", text))
bad += ["%s is not on the page" % n for n in random if n not in known and n not in ("exactly", "log_odds_uniform")]
for b in bad: print("FAIL", b)
print("%d of Stan's names, %d calls, %d distributions of numbers: %d wrong" % (len(STAN), len(calls), len(random), len(bad)))
sys.exit(bool(bad) or len(calls) < 50)
