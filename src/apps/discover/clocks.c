/* SPDX-License-Identifier: Apache-2.0
 * See clocks.h. */
#include "apps/discover/clocks.h"
#include "base/mem.h"
#include "numeric/special/robust.h"
#include <math.h>

#define HOUR   (1.0 / 24)
#define NIGHT  (5.0 / 24) /* clocks are set back before that */
#define APART  150        /* days between two such nights, at least */
#define MINUTE (1.0 / 1440)

/* The step of most rows; 0 without rows. */
static double usual_step(const struct every_row *row, size_t n) {
    double *d = NEW_ARRAY(double, n + 1);
    size_t k = robust_steps(&row->x, n, sizeof *row / sizeof(double), d);
    double step = k ? d[k / 2] : 0;
    mem_free(d);
    return step;
}

/* Does row i repeat an hour? Its time is the expected clock time one step later, less an hour. */
static bool begins_again(const struct every_row *row, size_t i, double step) {
    double at = row[i].x - floor(row[i].x);
    return fabs(row[i - 1].x + step - HOUR - row[i].x) < MINUTE / 2 && at < NIGHT;
}

/* How often clocks were set back; 0 also where times do not ascend for another reason. */
static size_t count_nights(const struct every_row *row, size_t n, double step) {
    double last = -INFINITY;
    size_t nights = 0;
    for (size_t i = 1; i < n; i++) {
        if (row[i].x > row[i - 1].x) continue;
        if (!begins_again(row, i, step) || row[i].x - last < APART) return 0;
        last = row[i].x;
        nights++;
    }
    return nights;
}

static void turn_around(struct every_row *row, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        struct every_row other = row[i];
        row[i] = row[n - 1 - i];
        row[n - 1 - i] = other;
    }
}

size_t clocks_merge(struct every_row *row, size_t *n) {
    size_t kept = 0;
    bool down = *n > 1 && row[0].x > row[*n - 1].x; /* the newest first */
    if (down) turn_around(row, *n);
    double step = usual_step(row, *n);
    size_t nights = step > 0 && step <= HOUR + MINUTE / 2 ? count_nights(row, *n, step) : 0;
    for (size_t i = 0; i < *n && nights; i++) {
        size_t same = kept; /* the first coming of this time */
        while (same && row[same - 1].x > row[i].x + MINUTE / 10) same--;
        bool again = same && fabs(row[same - 1].x - row[i].x) < MINUTE / 10;
        if (again)
            row[same - 1].y = (row[same - 1].y + row[i].y) / 2;
        else
            row[kept++] = row[i];
    }
    if (nights) *n = kept;
    if (down) turn_around(row, *n);
    return nights;
}
