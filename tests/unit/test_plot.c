/* SPDX-License-Identifier: Apache-2.0
 *
 * The plotting layer: ticks against their definition, limits, and both renderers on ordinary and
 * hostile scenes. With PLOT_DUMP=DIR in the environment the pictures are written there.
 */
#include "support/check.h"

#include "base/buf.h"
#include "io/plot/scene.h"
#include "io/plot/scene_json.h"
#include "io/plot/spec.h"
#include "io/plot/ticks.h"

static void dump(const char *name, const struct buf *b) {
    const char *dir = getenv("PLOT_DUMP");
    char path[512];
    if (!dir) return;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    if (!f) return;
    fwrite(b->data, 1, b->len, f);
    fclose(f);
}

static void test_ticks_linear(void **state) {
    (void)state;
    struct plot_ticks t;
    plot_ticks_axis(&(struct plot_axis){.lo = 0, .hi = 10}, 5, &t);
    assert_int_equal(t.n, 6);
    assert_string_equal(t.text[1], "2");
    plot_ticks_axis(&(struct plot_axis){.lo = -0.31, .hi = 0.29}, 6, &t);
    for (size_t i = 0; i < t.n; i++) {
        assert_true(t.at[i] >= -0.31 - 1e-9 && t.at[i] <= 0.29 + 1e-9);
        assert_close(strtod(t.text[i], NULL), t.at[i], 1e-12); /* the text says the place */
    }
    assert_string_equal(t.text[0], "-0.3");
    plot_ticks_axis(&(struct plot_axis){.lo = 0, .hi = 3, .whole = true}, 20, &t);
    assert_int_equal(t.n, 4); /* whole numbers only */
    plot_ticks_axis(&(struct plot_axis){.lo = 0, .hi = 4.2e7}, 5, &t);
    assert_string_equal(t.text[t.n - 1], "4e7");
    assert_string_equal(t.text[0], "0");
}

/* For random ranges: the number of marks is near the wish and the marks are evenly spaced. */
static void test_ticks_random_ranges(void **state) {
    (void)state;
    unsigned seed = 7;
    for (int k = 0; k < 2000; k++) {
        double lo = (rand_r(&seed) / (double)RAND_MAX - 0.5) * pow(10, rand_r(&seed) % 12 - 6);
        double len = pow(10, rand_r(&seed) % 12 - 6) * (1 + rand_r(&seed) % 9);
        struct plot_ticks t;
        plot_ticks_axis(&(struct plot_axis){.lo = lo, .hi = lo + len}, 6, &t);
        if (len < 1e-6 * fabs(lo)) continue;
        assert_in_range(t.n, 2, 7);
        for (size_t i = 2; i < t.n; i++) {
            assert_close((t.at[i] - t.at[i - 1]) / (t.at[1] - t.at[0]), 1, 1e-6);
        }
        for (size_t i = 1; i < t.n; i++) assert_string_not_equal(t.text[i], t.text[i - 1]);
    }
}

static void test_ticks_bad(void **state) {
    (void)state;
    struct plot_ticks t;
    plot_ticks_axis(&(struct plot_axis){.lo = 1, .hi = 1}, 5, &t);
    assert_int_equal(t.n, 0);
    plot_ticks_axis(&(struct plot_axis){.lo = -INFINITY, .hi = 1}, 5, &t);
    assert_int_equal(t.n, 0);
    plot_ticks_axis(&(struct plot_axis){.lo = 1e15, .hi = 1e15 + 0.5}, 5, &t);
    assert_true(t.n <= PLOT_TICKS_MAX);
    plot_ticks_axis(&(struct plot_axis){.lo = -1, .hi = 10, .log = true}, 5, &t);
    assert_int_equal(t.n, 0);
}

static void test_ticks_log(void **state) {
    (void)state;
    struct plot_ticks t;
    plot_ticks_axis(&(struct plot_axis){.lo = 0.01, .hi = 1000, .log = true}, 6, &t);
    assert_close(t.at[0], 0.01, 1e-9);
    assert_close(t.at[t.n - 1], 1000, 1e-9);
    plot_ticks_axis(&(struct plot_axis){.lo = 1e-9, .hi = 1e9, .log = true}, 5, &t);
    size_t written = 0;
    for (size_t i = 0; i < t.n; i++) written += t.text[i][0] != 0;
    assert_in_range(written, 3, 6);
}

static void test_limits(void **state) {
    (void)state;
    struct plot_scene *s = plot_scene_new(NULL, NULL, 1);
    struct plot_panel *p = plot_panel_add(s, NULL);
    struct plot_axes l = plot_panel_axes(p);
    assert_true(l.x.hi > l.x.lo && l.y.hi > l.y.lo); /* empty */
    double x[] = {5, NAN, INFINITY}, y[] = {2, 2, 2};
    plot_xy(p, PLOT_LINE, NULL, 3, x, y, PLOT_AUTO);
    l = plot_panel_axes(p);
    assert_true(l.x.lo < 5 && l.x.hi > 5 && l.y.lo < 2 && l.y.hi > 2 && isfinite(l.x.hi));
    p->x.lo = -1;
    assert_close(plot_panel_axes(p).x.lo, -1, 0);
    plot_scene_free(s);
}

static void test_histogram_is_a_density(void **state) {
    (void)state;
    double v[500];
    unsigned seed = 3;
    for (int i = 0; i < 500; i++)
        v[i] = rand_r(&seed) / (double)RAND_MAX + rand_r(&seed) / (double)RAND_MAX;
    v[17] = NAN;
    struct plot_scene *s = plot_scene_new(NULL, NULL, 1);
    struct plot_panel *p = plot_panel_add(s, NULL);
    plot_histogram(p, "h", 500, v, 0, PLOT_AUTO);
    const struct plot_item *it = &p->items.at[0];
    double area = 0;
    for (size_t i = 0; i < it->n; i++) area += (it->y2[i] - it->x[i]) * it->y[i];
    assert_close(area, 1, 1e-12);
    assert_in_range(it->n, 5, 30);
    plot_scene_free(s);
}

/* The curve of a sample has area 1, its distribution function climbs from 0 to 1 at the numbers;
 * samples of nothing or of one value have no curve. */
static void test_curves_of_a_sample(void **state) {
    (void)state;
    double v[60], one[3] = {2, 2, 2};
    for (int i = 0; i < 60; i++) v[i] = sin(3.0 * i) + (i % 3);
    v[5] = NAN;
    struct plot_scene *s = plot_scene_new(NULL, NULL, 1);
    struct plot_panel *p = plot_panel_add(s, NULL);
    plot_density(p, "d", 60, v, PLOT_AUTO);
    const struct plot_item *it = &p->items.at[0];
    double area = 0;
    for (size_t i = 1; i < it->n; i++)
        area += (it->x[i] - it->x[i - 1]) * (it->y[i] + it->y[i - 1]) / 2;
    assert_close(area, 1, 2e-3);
    plot_ecdf(p, "e", 60, v, PLOT_AUTO);
    it = &p->items.at[1];
    assert_int_equal(it->n, 2 * 59);
    assert_close(it->y[0], 0, 0);
    assert_close(it->y[it->n - 1], 1, 0);
    for (size_t i = 1; i < it->n; i++)
        assert_true(it->x[i] >= it->x[i - 1] && it->y[i] >= it->y[i - 1]);
    plot_density(p, "d", 3, one, PLOT_AUTO);
    plot_density(p, "d", 0, one, PLOT_AUTO);
    plot_ecdf(p, "e", 0, one, PLOT_AUTO);
    assert_int_equal(p->items.n, 2);
    plot_scene_free(s);
}

static void test_histogram_of_counts(void **state) {
    (void)state;
    double v[200];
    for (int i = 0; i < 200; i++) v[i] = (i % 7 + (i % 7 == 5)) / 12.0; /* 0 1 2 3 4 6, twelfths */
    struct plot_scene *s = plot_scene_new(NULL, NULL, 1);
    struct plot_panel *p = plot_panel_add(s, NULL);
    plot_histogram(p, "h", 200, v, 0, PLOT_AUTO);
    const struct plot_item *it = &p->items.at[0];
    assert_int_equal(it->n, 7);
    for (size_t i = 0; i < 7; i++) { /* each value in the middle of its bar */
        assert_close(it->x[i] + it->y2[i], (double)i / 6, 1e-12);
        assert_true((it->y[i] > 0) == (i != 5));
    }
    plot_scene_free(s);
}

static struct plot_scene *sample_scene(void) {
    enum { N = 121 };
    static double x[N], mean[N], lo[N], hi[N], draw[N];
    double px[] = {-18, -12.6, -6.4, -3.1, 0, 7.8, 12.6}, py[7];
    struct plot_scene *s =
        plot_scene_new("Emulation of an expensive function",
                       "Posterior mean, 95% band and data of a Gaussian process", 2);
    struct plot_panel *p = plot_panel_add(s, "After five probes");
    for (int i = 0; i < N; i++) {
        x[i] = -20 + i / 3.0;
        mean[i] = exp(-0.1 * fabs(x[i] - 2)) * 10 * cos(0.4 * x[i]) + 0.2;
        double w = 0.3 + 2 * fabs(sin(x[i] / 4));
        lo[i] = mean[i] - w;
        hi[i] = mean[i] + w;
        draw[i] = mean[i] + w * 0.6 * sin(x[i]);
    }
    for (int i = 0; i < 7; i++) py[i] = exp(-0.1 * fabs(px[i] - 2)) * 10 * cos(0.4 * px[i]) + 0.2;
    plot_axis_labels(p, "input x", "f(x)");
    plot_band(p, "95% band", N, x, lo, hi, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_LINE, "mean", N, x, mean, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_LINE, "draw", N, x, draw, (struct plot_style){PLOT_VERMILION, 1, 0.8, true});
    plot_xy(p, PLOT_POINTS, "probes", 7, px, py, PLOT_COLOUR(PLOT_BLACK));
    plot_rule(p, PLOT_RULE_X, "next probe", 4, (struct plot_style){PLOT_GREY, 0, 0, true});
    p = plot_panel_add(s, "Length scale");
    double v[400];
    unsigned seed = 5;
    for (int i = 0; i < 400; i++) {
        v[i] = 0;
        for (int k = 0; k < 5; k++) v[i] -= log((rand_r(&seed) + 1.0) / (RAND_MAX + 2.0));
    }
    plot_axis_labels(p, "l", "density");
    plot_histogram(p, "posterior", 400, v, 0, PLOT_AUTO);
    p = plot_panel_add(s, "Structures");
    const char *names[] = {"LIN + PER + SE + WN", "LIN*PER + WN", "SE & <WN>"};
    double prob[] = {0.71, 0.22, 0.07}, err[] = {0.02, 0.02, 0.01};
    plot_axis_labels(p, "probability", NULL);
    plot_add(
        p, (struct plot_item){PLOT_NAMED, PLOT_AUTO, .n = 3, .names = names, .y = prob, .y2 = err});
    p = plot_panel_add(s, "Regret");
    double n[30], r[30];
    for (int i = 0; i < 30; i++) {
        n[i] = i + 1;
        r[i] = 20 * exp(-i / 4.0) + 1e-3;
    }
    p->y.log = true;
    plot_axis_labels(p, "evaluations", "simple regret");
    plot_xy(p, PLOT_LINE, "gpmem", 30, n, r, PLOT_AUTO);
    plot_xy(p, PLOT_NOTE, "noise floor", 1, (double[]){20}, (double[]){0.2}, PLOT_AUTO);
    return s;
}

static size_t count(const char *text, const char *what) {
    size_t n = 0;
    for (; (text = strstr(text, what)); text += strlen(what)) n++;
    return n;
}

static void test_svg(void **state) {
    (void)state;
    struct plot_scene *s = sample_scene();
    struct buf b = BUF_INIT;
    plot_svg(s, &(struct plot_svg_options){0}, &b);
    dump("sample.svg", &b);
    assert_non_null(strstr(b.data, "viewBox=\"0 0 "));
    assert_non_null(strstr(b.data, "<title id=\"plot-title\">Emulation"));
    assert_non_null(strstr(b.data, "SE &amp; &lt;WN&gt;"));
    assert_null(strstr(b.data, "<WN>"));
    assert_int_equal(count(b.data, "<clipPath"), 4);
    assert_int_equal(count(b.data, "<circle"), 8); /* seven probes and the key */
    assert_null(strstr(b.data, "nan"));
    assert_int_equal(count(b.data, "<g"), count(b.data, "</g>"));
    buf_release(&b);
    plot_scene_free(s);
}

static void test_terminal(void **state) {
    (void)state;
    struct plot_scene *s = sample_scene();
    struct buf b = BUF_INIT;
    plot_terminal(s, &(struct plot_terminal_options){0}, &b);
    dump("sample.txt", &b);
    assert_null(strchr(b.data, '\033')); /* no colour unless asked */
    assert_non_null(strstr(b.data, "After five probes"));
    assert_non_null(strstr(b.data, "0.71"));
    for (const char *line = b.data; *line; line = strchr(line, '\n') + 1) { /* fits the width */
        size_t w = 0;
        for (const char *c = line; *c != '\n'; c++) w += ((unsigned char)*c & 0xc0) != 0x80;
        assert_true(w <= 80);
    }
    buf_reset(&b);
    plot_terminal(s, &(struct plot_terminal_options){100, 24, true}, &b);
    dump("sample.ansi", &b);
    assert_int_equal(count(b.data, "\033[0m"), count(b.data, "\033[") - count(b.data, "\033[0m"));
    buf_release(&b);
    plot_scene_free(s);
}

/* A straight line from corner to corner has dots on the diagonal and nowhere else. */
static void test_terminal_diagonal(void **state) {
    (void)state;
    struct plot_scene *s = plot_scene_new(NULL, NULL, 1);
    struct plot_panel *p = plot_panel_add(s, NULL);
    double x[] = {0, 1};
    p->x.lo = p->y.lo = 0;
    p->x.hi = p->y.hi = 1;
    plot_xy(p, PLOT_LINE, NULL, 2, x, x, PLOT_AUTO);
    struct buf b = BUF_INIT;
    plot_terminal(s, &(struct plot_terminal_options){30, 8, false}, &b);
    const char *line = b.data;
    long last = 1000;
    for (int row = 0; row < 8;
         row++) { /* the line rises to the right: lower rows start further left */
        const char *frame = strstr(line, "\xe2\x94"), *end = strchr(line, '\n');
        long first = 0;
        for (const char *c = frame + 3; c < end && *c == ' '; c++) first++;
        assert_true(end > frame + 3 && first < last);
        last = first;
        line = end + 1;
    }
    buf_release(&b);
    plot_scene_free(s);
}

static void test_hostile(void **state) {
    (void)state;
    static double big[20000], odd[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 0, 5e-324};
    for (int i = 0; i < 20000; i++) big[i] = sin(i * 0.37) * i;
    struct plot_scene *s = plot_scene_new("\"'<script>alert(1)</script>\001\033[2J", NULL, 3);
    struct plot_panel *p = plot_panel_add(s, "odd");
    plot_xy(p, PLOT_LINE, "odd", 7, odd, odd, PLOT_AUTO);
    plot_xy(p, PLOT_POINTS, "odd", 7, odd, odd, PLOT_AUTO);
    plot_band(p, "odd", 7, odd, odd, odd, PLOT_AUTO);
    plot_bars(p, "odd", 7, odd, 1e308, odd, PLOT_AUTO);
    plot_histogram(p, "odd", 7, odd, 0, PLOT_AUTO);
    plot_rule(p, PLOT_RULE_X, "odd", NAN, PLOT_AUTO);
    plot_xy(p, PLOT_NOTE, "odd", 1, (double[]){INFINITY}, (double[]){1}, PLOT_AUTO);
    p = plot_panel_add(s, "log of nothing positive");
    p->x.log = p->y.log = true;
    plot_xy(p, PLOT_LINE, "x", 3, odd, odd, PLOT_AUTO);
    p = plot_panel_add(s, "many");
    plot_xy(p, PLOT_LINE, "many", 20000, big, big, PLOT_AUTO);
    plot_add(plot_panel_add(s, "none"), (struct plot_item){PLOT_NAMED, PLOT_AUTO, .y = odd});
    struct buf b = BUF_INIT;
    plot_svg(s, &(struct plot_svg_options){0}, &b);
    assert_null(strstr(b.data, "<script"));
    assert_null(strchr(b.data, '\001'));
    assert_true(b.len < 2000000);
    buf_reset(&b);
    plot_terminal(s, &(struct plot_terminal_options){0}, &b);
    assert_null(strchr(b.data, '\033'));
    buf_release(&b);
    plot_scene_free(s);
    s = plot_scene_new(NULL, NULL, 1); /* no panels */
    plot_svg(s, &(struct plot_svg_options){0}, &b);
    plot_terminal(s, &(struct plot_terminal_options){0}, &b);
    buf_release(&b);
    plot_scene_free(s);
}

static const char *const columns[] = {"mu", "sd"};

static struct plot_table small_table(void) {
    static const double mu[] = {1, 2, 3, 4}, sd[] = {5, 6, 7, 8}, prt[] = {0, 1, 0, 1};
    static const double *const data[] = {mu, sd};
    return (struct plot_table){
        .rows = 4, .columns = 2, .names = columns, .data = data, .particle = prt};
}

static void test_spec(void **state) {
    (void)state;
    struct plot_table t = small_table();
    struct plot_scene *s = plot_scene_new(NULL, NULL, 1);
    struct buf err = BUF_INIT;
    assert_int_equal(plot_spec_panel(s, "l0", &t, &err), GPM_OK);
    const struct plot_item *it = &s->panels.at[0]->items.at[0];
    assert_int_equal(it->kind, PLOT_LINE); /* y over the iteration */
    assert_true(it->x[3] == 3 && it->y[3] == 4);
    assert_string_equal(s->panels.at[0]->y.label, "mu");
    assert_int_equal(plot_spec_panel(s, "p%d%l", &t, &err), GPM_OK);
    it = &s->panels.at[1]->items.at[0];
    assert_true(it->kind == PLOT_POINTS && it->x[0] == 1 && it->y[0] == 5);
    assert_true(s->panels.at[1]->y.log && !s->panels.at[1]->x.log);
    assert_int_equal(plot_spec_panel(s, "pl0d1dr", &t, &err), GPM_OK);
    assert_int_equal(s->panels.at[2]->items.n, 4); /* two particles, line and points each */
    assert_int_equal(s->panels.at[2]->items.at[0].n, 2);
    assert_int_equal(plot_spec_panel(s, "h1", &t, &err), GPM_OK);
    assert_int_equal(s->panels.at[3]->items.at[0].kind, PLOT_BARS);
    assert_int_equal(plot_spec_panel(s, "p7", &t, &err), GPM_E_FORMAT);
    assert_non_null(strstr(err.data, "2 columns"));
    assert_int_equal(plot_spec_panel(s, "l", &t, &err), GPM_OK);
    it = &s->panels.at[4]->items.at[0];
    assert_true(it->x[0] == 1 && it->y[0] == 5); /* column 1 over column 0 */
    const char *bad[] = {"p0z", "0 1 0 1", "%%%", "p99999999999999999999"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(plot_spec_panel(s, bad[i], &t, &err), GPM_E_FORMAT);
    }
    buf_release(&err);
    plot_scene_free(s);
}

static void test_json(void **state) {
    (void)state;
    struct plot_scene *s;
    struct buf err = BUF_INIT;
    const char *good = "{\"title\":\"t\",\"panels\":[{\"items\":[{\"type\":\"line\",\"x\":[1,2],"
                       "\"y\":[3,null],\"colour\":\"green\"},{\"type\":\"rule\",\"y\":0}]}]}";
    assert_int_equal(plot_scene_from_json(good, strlen(good), &s, &err), GPM_OK);
    assert_true(isnan(s->panels.at[0]->items.at[0].y[1]));
    assert_int_equal(s->panels.at[0]->items.at[0].style.colour, PLOT_GREEN);
    assert_int_equal(s->panels.at[0]->items.at[1].kind, PLOT_RULE_Y);
    plot_scene_free(s);
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"{", "line 1"},
        {"[]", "object"},
        {"{\"titel\":\"t\"}", "'titel' is not known"},
        {"{\"panels\":[{\"items\":[{\"type\":\"lines\"}]}]}", "panel 1, item 1: there is no item"},
        {"{\"panels\":[{\"items\":[{\"type\":\"line\",\"x\":[1],\"y\":[1,2]}]}]}", "'x' has 1"},
        {"{\"panels\":[{\"items\":[{\"type\":\"line\",\"x\":[\"a\"],\"y\":[1]}]}]}", "no number"},
        {"{\"panels\":[{\"items\":[{\"type\":\"rule\"}]}]}", "either an x or a y"},
        {"{\"columns\":0}", "from 1 to 12"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        buf_reset(&err);
        assert_int_equal(plot_scene_from_json(bad[i].text, strlen(bad[i].text), &s, &err),
                         GPM_E_FORMAT);
        if (!strstr(err.data, bad[i].why)) fail_msg("%s: %s", bad[i].text, err.data);
    }
    buf_release(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ticks_linear),
        cmocka_unit_test(test_ticks_random_ranges),
        cmocka_unit_test(test_ticks_bad),
        cmocka_unit_test(test_ticks_log),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_histogram_is_a_density),
        cmocka_unit_test(test_curves_of_a_sample),
        cmocka_unit_test(test_histogram_of_counts),
        cmocka_unit_test(test_svg),
        cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_terminal_diagonal),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_spec),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
