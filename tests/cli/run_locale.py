#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers are read and written alike in every locale. A host in C, one in Python and the tool do the same things in
the locale C, in German (decimal comma), Pashto (a decimal sign of two bytes) and Turkish (i has another capital); what
they say must be the same, byte for byte. The locales are made here with localedef. Argument: the tool."""
import os, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])
BUILD = os.path.dirname(TOOL)
PACKAGE = os.environ.get("GPMEM_PYTHON", os.path.join(ROOT, "python"))
LOCALES = {"C": ".", "de_DE.UTF-8": ",", "ps_AF.UTF-8": "\u066b", "tr_TR.UTF-8": ","}

HOST = r"""
#include "gpmem/discover.h"
#include "gpmem/draws.h"
#include "gpmem/gp.h"
#include "gpmem/optimize.h"
#include "gpmem/plot.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(call, why) do { if (call) { printf("failed: %s: %s\n", #call, why); exit(1); } } while (0)

static void out(void *user, int stream, const char *text, size_t len) { fwrite(text, 1, len, stdout); }
static void bits(const char *what, double x) { unsigned long long u; memcpy(&u, &x, 8); printf("%s %llx\n", what, u); }
static int bowl(void *user, const double *x, double *y) { *y = (x[0] - 0.25) * (x[0] - 0.25) + x[1]; return 0; }

static void programs(enum gpm_format format) {
    static const char *const texts[] = {
        "1.5 + 1; [0.25]; 1/3; 2.5e-3; 1e300; .5; array(1.5, -0.125); \"0,5\"; probability<0.5>;",
        "print(0.1 + 0.2, 1.5); sample make_se(1.5, 0.25); sample \"SE(sf=1.5)\";",
        "assume mu = normal(0.5, 1.5); observe normal(mu, 0.5) = 1.25; infer mh(default, one, 50); sample mu;",
        "define d = run(accumulate_dataset(20, do(mh(default, one, 1), collect(mu)))); print(d); summarize(d);",
        "plot(\"p0ld\", d);", "uniform_continuous(2.5, 1.5);", "normal(0, -0.5);", "lookup([1.5, 2.5], 7.25);", "1.5.2;", "1e999;",
        "ASSUME i = 0.5; INFER mh(default, one, 1); IF (TRUE) { 1.5 } ELSE { 2 };", "LIST(1.5);", "define I = 2; LIN;",
    };
    struct gpm_options o;
    gpm_options_init(&o);
    o.format = format;
    o.write = out;
    gpm_session *s = gpm_session_new(&o);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (gpm_run_text(s, "text", texts[i], strlen(texts[i]))) puts(gpm_last_error(s));
    gpm_session_free(s);
}

static void processes(void) {
    gpm_kernel *k;
    char err[200];
    if (gpm_kernel_parse("lin + se*per", &k, err, sizeof err)) puts(err); else puts(gpm_kernel_text(k)), gpm_kernel_free(k);
    double x[] = {0.5, 1.25, 2.75}, y[] = {0.1, -0.2, 0.3}, at = 1.5, mean, var;
    gpm_gp *g = gpm_gp_new();
    CHECK(gpm_gp_model(g, 1, "1.5*SE(sf=1.25, l=0.75) + PER(sf=0.5, p=2.5, l=1.5)", 0.125), gpm_gp_error(g));
    CHECK(gpm_gp_add(g, x, y, 3), gpm_gp_error(g));
    CHECK(gpm_gp_predict(g, &at, 1, false, &mean, &var), gpm_gp_error(g));
    bits("mean", mean), bits("var", var), puts(gpm_gp_kernel(g)), puts(gpm_gp_report(g));
    gpm_gp_free(g);
}

static void draws(void) {
    const char *csv = "a,b\n0.5,1.25\n1.5,-2.75\n0.25,1e-3\n2.5,nan\n";
    char err[200];
    gpm_draws *d = gpm_draws_new();
    CHECK(gpm_draws_add_csv(d, csv, strlen(csv), err, sizeof err), err);
    puts(gpm_draws_summary(d, GPM_FORMAT_TEXT)), puts(gpm_draws_summary(d, GPM_FORMAT_JSON));
    puts(gpm_draws_json(d)), puts(gpm_draws_complaints(d));
    gpm_draws_free(d);
}

static void series(const char *folder) {
    char csv[2000] = "time,value\n", path[500], line[80];
    struct gpm_discover_options o;
    for (int i = 0; i < 40; i++) /* a trend, a period and some noise, in quarters */
        sprintf(line, "%d.%s,%d.%d\n", 1990 + i / 4, (const char *[]){"0", "25", "5", "75"}[i % 4], i + 5 * (i % 4),
                i * 7 % 10), strcat(csv, line);
    gpm_discover_options_init(&o);
    o.threads = 1, o.holdout = 0.125;
    gpm_discovery *d = gpm_discover_new(), *again = gpm_discover_new();
    FILE *f = fopen("series.csv", "w");
    fputs(csv, f), fclose(f);
    CHECK(gpm_discover_run(d, "series.csv", &o), gpm_discover_error(d));
    snprintf(path, sizeof path, "%s-run", folder);
    CHECK(gpm_discover_save(d, path), gpm_discover_error(d));
    CHECK(gpm_discover_open(again, path), gpm_discover_error(again));
    for (int k = GPM_REPORT_TEXT; k <= GPM_REPORT_PROGRAM; k++)
        puts(gpm_discover_report(d, k)), puts(gpm_discover_report(again, k));
    const char *times[] = {"2000.25", "2001.5"}, *table;
    CHECK(gpm_discover_forecast(again, 0, times, 2, 0.75, &table), gpm_discover_error(again));
    puts(table);
    struct gpm_answer a;
    const char *queries[] = {"lin AND per", "LIN and NOT Iwiener", "White_Noise", "i\\u0131"};
    for (int k = 0; k < 4; k++)
        if (gpm_discover_query(again, queries[k], &a)) puts(gpm_discover_error(again)); else bits(queries[k], a.probability);
    gpm_discover_free(d), gpm_discover_free(again);
}

static void search(const char *folder) {
    char store[500];
    struct gpm_optimize_options o;
    gpm_optimize_options_init(&o);
    snprintf(store, sizeof store, "%s.db", folder);
    o.store = store, o.timeout = 2.5;
    for (o.budget = 6; o.budget <= 9; o.budget += 3) { /* the second goes on */
        gpm_optimizer *s = gpm_optimizer_new(&o);
        CHECK(gpm_optimizer_variable(s, "x=-0.5:1.75"), gpm_optimizer_error(s));
        CHECK(gpm_optimizer_variable(s, "r=0.125:2.5:log"), gpm_optimizer_error(s));
        gpm_optimizer_function(s, "bowl", bowl, NULL);
        CHECK(gpm_optimizer_open(s), gpm_optimizer_error(s));
        CHECK(gpm_optimizer_run(s), gpm_optimizer_error(s));
        double x;
        CHECK(gpm_optimizer_read(s, 0, "0.625", &x), gpm_optimizer_error(s));
        bits("read", x);
        for (int k = GPM_OPTIMIZE_TEXT; k <= GPM_OPTIMIZE_HTML; k++) puts(gpm_optimizer_report(s, k));
        gpm_optimizer_free(s);
    }
    gpm_memo *m = gpm_memo_new();
    const char *text;
    CHECK(gpm_memo_open(m, store, false), gpm_memo_error(m));
    CHECK(gpm_memo_export(m, &text), gpm_memo_error(m));
    puts(text);
    gpm_memo_free(m);
}

static void pictures(void) {
    const char *json = "{\"title\": \"0.5\", \"panels\": [{\"items\": [{\"type\": \"line\", \"x\": [0.25, 1.5, 2.75], \"y\": [0.125, 2.5, -1.5]}]}]}";
    char err[300] = "";
    struct gpm_plot_options o = {0};
    for (int k = 0; k < 2; k++) {
        o.format = k;
        CHECK(gpm_plot_json(json, strlen(json), &o, out, NULL, err, sizeof err), err);
    }
}

int main(int argc, char **argv) {
    if (!setlocale(LC_ALL, "") || strcmp(localeconv()->decimal_point, argv[1])) return puts("no such locale"), 2;
    programs(GPM_FORMAT_TEXT), programs(GPM_FORMAT_JSON);
    processes(), draws(), series(argv[2]), search(argv[2]), pictures();
    return strcmp(localeconv()->decimal_point, argv[1]) ? puts("the host's locale was changed"), 3 : 0;
}
"""

PYTHON = r"""
import locale, os, sys
locale.setlocale(locale.LC_ALL, "")
assert locale.localeconv()["decimal_point"] == sys.argv[1], "no such locale"
import numpy as np
import gpmem
print(gpmem.run("1.5 + 1; [0.25]; x;", data={"x": [0.5, 1e-3, 1e22]}).values)
seen = []
def f(x):
    seen.append(x)
    return x * 1.5
print(gpmem.run("f(0.25); infer call_back(g, 0.5);", functions={"f": f}, callbacks={"g": seen.append}).values, seen)
X = np.linspace(0, 3, 9)[:, None]
g = gpmem.GPRegressor(kernel="SE(sf=1.25, l=0.75)", noise=0.1, optimize=False).fit(X, np.sin(X[:, 0]))
print(g.kernel_, g.predict([[1.3]]).tolist())
print(gpmem.optimize(lambda x: (x - 0.25) ** 2, {"x": (-0.75, 1.5)}, budget=6).points)
y = np.arange(24) * 1.5 + np.tile([0.25, 3.75, -1.5], 8)
print({k: v.tolist() for k, v in gpmem.discover(y, np.arange(24) / 4, threads=1).forecast(2).items()})
"""


def do(command, where, name, **more):
    env = dict(os.environ, LC_ALL=name, LOCPATH=LOCPATH, LANGUAGE="", PYTHONIOENCODING="utf-8", OPENBLAS_NUM_THREADS="1",
               PYTHONPATH=PACKAGE, GPMEM_LIBRARY=os.path.join(BUILD, "libgpmem.so"))
    r = subprocess.run(command, cwd=where, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    return "exit %d\n" % r.returncode + r.stdout.decode(errors="replace")


def still(text):
    """Without what changes from run to run: times, hosts, process numbers."""
    text = re.sub(r"\b\d+(\.\d+)?(e[-+]\d+)? s\b", "N s", text)
    text = re.sub(r'("(?:seconds|started|finished|pid|log_seconds)": )[-+\d.e]+', r"\1N", text)
    text = re.sub(r'(<tr><td class="n">\d+</td><td class="n">)[-+\d.e]+(</td>)', r"\1N\2", text)  # the second column of evaluations: seconds
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "T", text)
    return re.sub(r",done,[-+\d.e]+,", ",done,N,", text)  # an exported store


def tool_outputs(where, name):
    with open(os.path.join(where, "d.csv"), "w") as f:
        f.write("x,y\n" + "".join("%r,%r\n" % (i / 4, i * 1.5 + (i % 4) / 8) for i in range(24)))
    with open(os.path.join(where, "p.vnts"), "w") as f:
        f.write("assume x = normal(0.5, 1.5);\n"
                "infer accumulate_dataset(20, do(mh(default, one, 1), collect(x)));\n")
    commands = [["-e", "1.5 + 1; [0.25]; 1/3"], ["help", "normal"],
                ["discover", "d.csv", "--query", "LIN", "--holdout", "0.25", "--out", "run"], ["query", "run", "PER"],
                ["query", "--format", "json", "run", "PER"], ["forecast", "run", "--at", "6.25"],
                ["optimize", "--var", "x=-0.5:1.5", "--target", "0.5", "--budget", "3", "--store", "o.db", "--", "echo", "{x}"],
                ["memo", "list", "o.db"], ["run", "--out", "draws", "--chains", "2", "--max-time", "60.5", "p.vnts"],
                ["summary", "draws"], ["plot", "draws"], ["plot", "--svg", "p.svg", "draws"], ["export", "--out", "e", "draws"]]
    out = ""
    for c in commands:
        said = do([TOOL, *c], where, name, stdin=subprocess.DEVNULL)
        assert said.startswith("exit 0\n"), (c, said)
        out += "$ %s\n%s" % (" ".join(c), said)
    for file in ("e-1.csv", "p.svg", "draws/diagnostics.json"):
        with open(os.path.join(where, file)) as f:
            out += f.read()
    return still(re.sub(r"(?m)^(\d+\t.*\t)[-+\d.e]+(\t.*)$", r"\1N\2", out))  # seconds in the list of evaluations


def compare(what, outputs):
    for name, out in outputs.items():
        for a, b in zip(outputs["C"].split("\n"), out.split("\n")):
            assert a == b, "%s: in %s\n  %s\nwhere C has\n  %s" % (what, name, b, a)
        assert out == outputs["C"], "%s: %s says more or less than C" % (what, name)
    assert len(outputs["C"]) > 150 and "failed: " not in outputs["C"], outputs["C"]
    return len(outputs["C"])


with tempfile.TemporaryDirectory(prefix="gpmem-locale-") as top:
    LOCPATH = os.path.join(top, "locales")
    os.mkdir(LOCPATH)
    for name in list(LOCALES)[1:]:
        subprocess.run(["localedef", "-i", name.split(".")[0], "-f", "UTF-8", os.path.join(LOCPATH, name)], check=True)
    with open(os.path.join(top, "host.c"), "w") as f:
        f.write(HOST)
    subprocess.run(["cc", "-I", os.path.join(ROOT, "include"), f.name, "-o", os.path.join(top, "host"), "-L", BUILD, "-lgpmem",
                    "-Wl,-rpath," + BUILD], check=True)
    said = {"host": {}, "python": {}, "tool": {}}
    for name in LOCALES:
        where = os.path.join(top, "in-" + name)
        os.mkdir(where)
        said["host"][name] = still(do([os.path.join(top, "host"), LOCALES[name], "kept"], where, name))
        said["python"][name] = do(["/usr/bin/python3", "-c", PYTHON, LOCALES[name]], where, name)
        said["tool"][name] = tool_outputs(where, name)
    if "--show" in sys.argv:
        print(said["host"]["C"], said["python"]["C"], said["tool"]["C"], sep="\n======\n")
    sizes = [compare(what, outputs) for what, outputs in said.items()]
    assert "2.5" in said["python"]["C"].split("\n")[1], said["python"]["C"]
print("%d, %d and %d bytes of output are the same in %s" % (*sizes, ", ".join(LOCALES)))
