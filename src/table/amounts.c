/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of tables; see the header.
 */
#include "table/amounts.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include <math.h>
#include <string.h>

/* ---- what stands around the digits ---- */

/* The length of a blank at p: of ASCII, no-break, narrow and thin ones; 0: none. */
static size_t blank(const char *p) {
    static const char *const wide[] = {"\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};
    if (*p == ' ' || *p == '\t') return 1;
    for (size_t i = 0; *p & 0x80 && i < COUNT_OF(wide); i++)
        if (!strncmp(p, wide[i], strlen(wide[i]))) return strlen(wide[i]);
    return 0;
}

static size_t minus(const char *p) {
    if (*p == '-') return 1;
    return strncmp(p, "\xe2\x88\x92", 3) ? 0 : 3; /* U+2212 */
}

/* A word of a list whose words stand between blanks, that the text begins with: the longest; its
 * length, 0: none. */
static size_t begins(const char *list, const char *p) {
    size_t best = 0, n;
    for (const char *w = list; *w; w += n) {
        w += *w == ' ';
        n = strcspn(w, " ");
        if (n > best && !strncmp(p, w, n)) best = n;
    }
    return best;
}

/* Is it a word of the list, which begins and ends with a blank? */
static bool is_listed(const char *list, const char *word, size_t n) {
    for (const char *w = list; n && (w = strchr(w, ' ')) && w[1]; w++)
        if (!strncmp(w + 1, word, n) && w[n + 1] == ' ') return true;
    return false;
}

/* mark := '%' | the sign or the code of a currency; its length, 0: none */
static size_t mark(const char *p) {
    static const char marks[] =
        "% $ \xe2\x82\xac \xc2\xa3 \xc2\xa5 \xe2\x82\xb9 \xe2\x82\xbd \xe2\x82\xa9 \xe2\x82\xba "
        "R$ US$ Fr. kr USD EUR GBP JPY CHF CNY RMB AUD CAD NZD SEK NOK DKK PLN CZK HUF RUB INR BRL "
        "MXN ZAR KRW TRY SGD HKD THB ILS TWD IDR MYR PHP AED SAR CLP ARS COP";
    return begins(marks, p);
}

/* unit := one of measurement, to the end of a word; its length, 0: none */
static size_t unit(const char *p) {
    static const char units[] = " Wh kWh MWh GWh W kW MW GW V mV kV A mA K C F \xc2\xb0 \xc2\xb0"
                                "C \xc2\xb0"
                                "F m km cm mm mi ft "
                                "in yd g kg mg \xc2\xb5g t lb lbs oz l L ml mL dl hl gal m2 m3 "
                                "m\xc2\xb2 m\xc2\xb3 km2 ha s ms sec min h hrs "
                                "Hz kHz MHz GHz Pa hPa kPa MPa bar mbar psi bpm mmHg ppm ppb dB lx "
                                "lux mg/l mg/L mg/dl mg/dL mmol/l "
                                "mmol/L g/l g/L km/h kmh m/s mph kn l/s m3/s m\xc2\xb3/s kB MB GB "
                                "TB kJ MJ GJ J kcal cal N kN Nm pH pcs St. ";
    size_t n = strcspn(p, " \t)");
    return is_listed(units, p, n) ? n : 0;
}

/* magnitude := thousands, millions, ... of a number, as in 987K and 1.2M; 0: none */
static char magnitude(const char *p) {
    char c = ascii_upper(*p);
    bool known = *p && (strchr("KMB", c) || *p == 'T') && *p != 'm' && *p != 'b';
    return known && !ascii_alpha(p[1]) && !strchr("/23", p[1] ? p[1] : ' ') ? c : 0;
}

/* note := stars and daggers, raised digits, letters or digits in brackets, a letter as offices of
 * statistics put it behind values (provisional, estimated, revised, break ...); its length, 0: none
 */
static size_t note(const char *p) {
    static const char signs[] =
        "* \xe2\x80\xa0 \xe2\x80\xa1 \xc2\xa7 \xc2\xb9 \xc2\xb2 \xc2\xb3 \xc2\xaa #";
    static const char letters[] = "pebrfcduzn";
    size_t n = begins(signs, p);
    if (n) return n + (p[n] ? note(p + n) : 0);
    if (*p == '(' || *p == '[') {
        char close = *p == '(' ? ')' : ']';
        for (n = 1; n < 4 && (ascii_alnum(p[n]) || p[n] == '*'); n++) continue;
        return n > 1 && p[n] == close ? n + 1 : 0;
    }
    while (n < 2 && p[n] && strchr(letters, p[n])) n++;
    return n && (!p[n] || blank(p + n)) ? n : 0;
}

struct body {
    const char *p; /* digits and separators */
    size_t n;
    bool negative;
    const char *unit;
    size_t unit_n;
    char magnitude; /* K, M, B, T; 0: none */
    const char *note;
    size_t note_n;
};

static bool take_mark(const char **p, struct body *b) {
    size_t n = mark(*p);
    if (!n) return true;
    if (b->unit) return false; /* two of them */
    b->unit = *p;
    b->unit_n = n;
    *p += n;
    return true;
}

/* What stands after the digits, which end at *p. */
static bool take_rest(const char **at, struct body *b) {
    const char *p = *at;
    while (blank(p)) p += blank(p);
    b->magnitude = magnitude(p);
    if (b->magnitude) p++;
    while (blank(p)) p += blank(p);
    if (!take_mark(&p, b)) return false;
    if (!b->unit && !b->magnitude && unit(p)) { /* one of measurement stands after the number */
        b->unit = p;
        b->unit_n = unit(p);
        p += b->unit_n;
    }
    while (blank(p)) p += blank(p);
    if (note(p)) {
        b->note = p;
        b->note_n = note(p);
        p += b->note_n;
    }
    while (blank(p)) p += blank(p);
    *at = p;
    return true;
}

/* plain := [sign] digits [. digits] [exponent], the whole cell: nothing has to be looked up */
static bool take_plain(const char *p, struct body *b) {
    size_t n = 0, points = 0;
    b->negative = *p == '-';
    p += *p == '-' || *p == '+';
    for (; ascii_digit(p[n]) || p[n] == '.'; n++) points += p[n] == '.';
    if (!n || points > 1) return false;
    if (p[n] == 'e' || p[n] == 'E') {
        n += 1 + (p[n + 1] == '-' || p[n + 1] == '+');
        if (!ascii_digit(p[n])) return false;
        while (ascii_digit(p[n])) n++;
    }
    b->p = p;
    b->n = n;
    return !p[n];
}

/* amount := ['('] [mark] [sign] [mark] body [magnitude] [mark] [note] [')'], blanks between */
static bool take_body(const char *p, struct body *b) {
    *b = (struct body){0};
    if (take_plain(p, b)) return true;
    *b = (struct body){0};
    while (blank(p)) p += blank(p);
    bool paren = *p == '(';
    if (paren) p++;
    for (int i = 0; i < 3; i++) {
        if (!take_mark(&p, b)) return false;
        while (blank(p)) p += blank(p);
        if (i == 0 || !b->negative) {
            size_t m = minus(p);
            if (m)
                b->negative = true, p += m;
            else if (*p == '+')
                p++;
        }
        while (blank(p)) p += blank(p);
    }
    b->p = p;
    for (;;) { /* a blank belongs to the body where a digit follows it */
        size_t k = blank(p);
        if (ascii_digit(*p) || *p == '.' || *p == ',' || *p == '\'')
            p++;
        else if (k && ascii_digit(p[k]) && p > b->p)
            p += k;
        else
            break;
    }
    if ((*p == 'e' || *p == 'E') && p > b->p) {
        const char *q = p + 1 + (p[1] == '-' || p[1] == '+');
        if (ascii_digit(*q)) {
            while (ascii_digit(*q)) q++;
            p = q;
        }
    }
    b->n = (size_t)(p - b->p);
    if (!take_rest(&p, b)) return false;
    if (paren) {
        if (*p++ != ')' || b->negative) return false;
        b->negative = true;
    }
    return b->n > 0 && !*p;
}

/* ---- which sign is what ---- */

struct votes {
    size_t comma_decimal, comma_group, point_group, point_decimal, open;
    size_t point_open; /* 30.512: of most columns three decimals, of amounts of money hardly */
    bool large;        /* an ungrouped number of four digits or more: thousands are not separated */
    bool small;        /* a whole number of three digits or less */
    bool comma, point, gap; /* there are some; blanks or apostrophes among digits */
};

/* Digits before the first and after the last of a sign. */
static void look(const struct body *b, char sign, size_t *count, size_t *before, size_t *after) {
    *count = *before = *after = 0;
    for (size_t i = 0; i < b->n && (ascii_digit(b->p[i]) || *count || b->p[i] == sign); i++) {
        if (b->p[i] == sign) {
            if (!(*count)++) *before = i;
            *after = 0;
        } else if (ascii_digit(b->p[i])) {
            ++*after;
        } else {
            break;
        }
    }
}

static void vote(const struct body *b, struct votes *v) {
    const char *comma = memchr(b->p, ',', b->n), *point = memchr(b->p, '.', b->n);
    size_t nc, bc, ac, np, bp, ap;
    v->comma |= comma != NULL;
    v->point |= point != NULL;
    for (size_t i = 0; i < b->n && !v->gap; i++) v->gap = b->p[i] == '\'' || blank(b->p + i);
    look(b, ',', &nc, &bc, &ac);
    look(b, '.', &np, &bp, &ap);
    if (comma && point) {
        const char *last = NULL;
        for (size_t i = 0; i < b->n; i++)
            if (b->p[i] == ',' || b->p[i] == '.') last = b->p + i;
        if (*last == ',')
            v->comma_decimal++;
        else
            v->comma_group++;
    } else if (comma) {
        bool group = ac == 3 && bc >= 1 && bc <= 3 && b->p[0] != '0';
        if (nc > 1)
            v->comma_group++;
        else if (!group)
            v->comma_decimal++;
        else
            v->open++;
    } else if (point) {
        if (np > 1)
            v->point_group++;
        else if (ap != 3 || bp > 3 || b->p[0] == '0')
            v->point_decimal++;
        else if (bp > 1)
            v->point_open++;
    } else if (strspn(b->p, "0123456789") >= b->n) {
        v->large |= b->n > 3;
        v->small |= b->n <= 3;
    }
}

/* Of currencies whose countries write a point before decimals: 1,234 is a thousand. */
static bool english(const char *unit) {
    static const char known[] = " $ \xc2\xa3 \xc2\xa5 \xe2\x82\xb9 \xe2\x82\xa9 US$ USD GBP JPY "
                                "CNY RMB INR AUD NZD SGD HKD KRW TWD THB ILS MXN PHP MYR ";
    return is_listed(known, unit, strlen(unit));
}

/* Of currencies whose countries write points between thousands: 30.512 may be thirty thousand. */
static bool continental(const char *unit) {
    static const char known[] = " \xe2\x82\xac EUR kr kr. DKK NOK SEK z\xc5\x82 PLN K\xc4\x8d "
                                "CZK HUF Ft R$ BRL TRY RUB ";
    return is_listed(known, unit, strlen(unit));
}

/* What the cells have behind their numbers. */
struct behind {
    size_t cells, notes, magnitudes;
    bool alike;     /* all have the same magnitude: it is a unit */
    char magnitude; /* the first one's */
};

static void look_behind(const struct body *b, struct behind *v, struct number_style *out) {
    if (b->magnitude) {
        if (!v->magnitudes++) v->magnitude = b->magnitude, v->alike = true;
        v->alike &= b->magnitude == v->magnitude;
    }
    v->cells++;
    v->notes += b->note != NULL;
    size_t n = strlen(out->notes);
    char text[8] = "";
    if (!b->note || b->note_n >= sizeof text || n + b->note_n + 2 >= sizeof out->notes) return;
    memcpy(text, b->note, b->note_n);
    if (strstr(out->notes, text)) return;
    if (n) out->notes[n++] = ' ';
    memcpy(out->notes + n, text, b->note_n + 1);
}

/* Marks behind most of the cells are no notes; the one magnitude of all is a unit. */
static void settle_behind(const struct behind *v, struct number_style *out) {
    out->noted = v->notes;
    if (3 * v->notes > v->cells) out->noted = 0;
    if (!out->noted) *out->notes = 0;
    out->magnitudes = v->magnitudes && !(v->alike && v->magnitudes == v->cells);
    if (v->magnitudes && !out->magnitudes && !*out->unit) out->unit[0] = v->magnitude;
}

/* ---- words for 1 and 0 ---- */
static const char *const truths[][2] = {{"yes", "no"}, {"true", "false"}};

static const char *find_truth(size_t n, const char *const *cells) {
    for (size_t k = 0; k < COUNT_OF(truths); k++) {
        bool seen[2] = {false, false}, other = false;
        for (size_t i = 0; i < n && !other; i++) {
            bool yes = cells[i] && !ascii_casecmp(cells[i], truths[k][0]);
            bool no = cells[i] && !ascii_casecmp(cells[i], truths[k][1]);
            seen[0] |= yes, seen[1] |= no;
            other = cells[i] && !yes && !no;
        }
        if (!other && seen[0] && seen[1]) return truths[k][0];
    }
    return NULL;
}

static bool read_truth(const char *yes, const char *cell, double *out) {
    *out = !ascii_casecmp(cell, yes);
    for (size_t k = 0; k < COUNT_OF(truths); k++)
        if (!strcmp(yes, truths[k][0]) && !ascii_casecmp(cell, truths[k][1])) return true;
    return *out > 0;
}

void number_style_find(size_t n, const char *const *cells, char decimal, struct number_style *out) {
    struct votes v = {0};
    struct behind behind = {0};
    *out = (struct number_style){.decimal = decimal ? decimal : '.'};
    for (size_t i = 0; i < n; i++) {
        struct body b;
        if (!cells[i] || !take_body(cells[i], &b)) continue;
        size_t before = v.open + v.point_open;
        vote(&b, &v);
        look_behind(&b, &behind, out);
        if (v.open + v.point_open > before && !out->doubt) out->doubt = cells[i];
        if (b.unit && !*out->unit && b.unit_n < sizeof out->unit)
            memcpy(out->unit, b.unit, b.unit_n);
    }
    settle_behind(&behind, out);
    out->truth = find_truth(n, cells);
    size_t comma = v.comma_decimal + v.point_group, point = v.comma_group + v.point_decimal;
    if (!decimal && comma > point) out->decimal = ',';
    /* 998 beside 1,002: whole numbers that are grouped from a thousand on */
    bool points = v.point_open && continental(out->unit);
    if (!decimal && points && !comma && !point && v.small && !v.large) out->decimal = ',';
    out->open = !decimal && (v.open || points) && !comma && !point && !(v.small && !v.large) &&
                !english(out->unit);
    if (!out->open) out->doubt = NULL;
    out->thousands = v.gap || (out->decimal == ',' ? v.point : v.comma);
}

/* group := 1 to 3 digits (sep 2 or 3 digits)*, the last of 3 */
static bool ungroup(const struct number_style *s, const struct body *b, struct buf *out) {
    char group = s->decimal == ',' ? '.' : ',';
    size_t run = 0, groups = 0, fraction = 0;
    for (size_t i = 0; i < b->n; i++) {
        const char *p = b->p + i;
        size_t k = blank(p);
        if (ascii_digit(*p)) {
            buf_putc(out, *p);
            run++;
        } else if (*p == s->decimal) {
            if (fraction || (groups && run != 3)) return false;
            buf_putc(out, '.');
            fraction = 1;
            run = 0;
        } else if (*p == group || *p == '\'' || k) {
            if (fraction || run == 0 || run > 3 || (groups && run == 1)) return false;
            groups++;
            run = 0;
            if (k) i += k - 1;
        } else { /* the exponent */
            buf_add(out, p, b->n - i);
            return !groups || fraction;
        }
    }
    return fraction || !groups || run == 3;
}

bool number_style_read(const struct number_style *s, const char *cell, double *out) {
    struct body b;
    struct buf text = BUF_INIT;
    if (s->truth) return read_truth(s->truth, cell, out);
    if (s->decimal != ',' && number_parse(cell, strlen(cell), out)) return isfinite(*out);
    bool ok = take_body(cell, &b) && (!b.note || s->noted) &&
              (!b.unit || (strlen(s->unit) == b.unit_n && !memcmp(s->unit, b.unit, b.unit_n))) &&
              ungroup(s, &b, &text) && number_parse(text.data, text.len, out) && isfinite(*out);
    if (ok && b.negative) *out = -*out;
    if (ok && s->magnitudes && b.magnitude)
        *out *= b.magnitude == 'K'   ? 1e3
                : b.magnitude == 'M' ? 1e6
                : b.magnitude == 'B' ? 1e9
                                     : 1e12;
    buf_release(&text);
    return ok;
}

void number_style_doubt(const struct number_style *s, struct buf *out) {
    buf_printf(out,
               "the %s of '%.40s' may separate decimals or thousands, and no other value tells",
               strchr(s->doubt, ',') ? "comma" : "point", s->doubt);
}

void number_style_say(const struct number_style *s, struct buf *out) {
    if (s->decimal == ',') buf_puts(out, ", decimal commas");
    if (s->thousands) buf_puts(out, ", thousands separators left out");
    if (*s->unit) buf_printf(out, ", in %s", s->unit);
    if (s->truth) buf_printf(out, ", %s is 1", s->truth);
    if (s->magnitudes) buf_puts(out, ", K, M, B are thousands, millions, billions");
    if (s->noted)
        buf_printf(out, ", marks behind %zu value%s ignored (%s)", s->noted,
                   s->noted == 1 ? "" : "s", s->notes);
}
