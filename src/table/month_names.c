/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of months in the languages of the table: read with accents and without, in full or cut
 * short as usual, and written as an example of the file is.
 */
#include "base/ascii.h"
#include "base/mem.h"
#include "table/times_int.h"
#include <string.h>

enum { LANGUAGES = 7, NAME = 24 };

/* In full, short, and other short ones between blanks. What one word says is the same month in all
 * of them. */
static const struct name {
    const char *full, *brief, *also;
} names[LANGUAGES][12] = {
    {{"january", "jan", ""},
     {"february", "feb", ""},
     {"march", "mar", ""},
     {"april", "apr", ""},
     {"may", "may", ""},
     {"june", "jun", ""},
     {"july", "jul", ""},
     {"august", "aug", ""},
     {"september", "sep", " sept "},
     {"october", "oct", ""},
     {"november", "nov", ""},
     {"december", "dec", ""}},
    {{"januar", "jan", " janner jaenner "},
     {"februar", "feb", " feber "},
     {"märz", "mär", " mrz maerz mae "},
     {"april", "apr", ""},
     {"mai", "mai", ""},
     {"juni", "jun", ""},
     {"juli", "jul", ""},
     {"august", "aug", ""},
     {"september", "sep", " sept "},
     {"oktober", "okt", ""},
     {"november", "nov", ""},
     {"dezember", "dez", ""}},
    {{"janvier", "janv", " jan "},
     {"février", "févr", " fev "},
     {"mars", "mars", " mar "},
     {"avril", "avr", ""},
     {"mai", "mai", ""},
     {"juin", "juin", " jun "},
     {"juillet", "juil", " jul "},
     {"août", "août", " aou "},
     {"septembre", "sept", " sep "},
     {"octobre", "oct", ""},
     {"novembre", "nov", ""},
     {"décembre", "déc", ""}},
    {{"enero", "ene", ""},
     {"febrero", "feb", ""},
     {"marzo", "mar", ""},
     {"abril", "abr", ""},
     {"mayo", "may", ""},
     {"junio", "jun", ""},
     {"julio", "jul", ""},
     {"agosto", "ago", ""},
     {"septiembre", "sep", " sept set setiembre "},
     {"octubre", "oct", ""},
     {"noviembre", "nov", ""},
     {"diciembre", "dic", ""}},
    {{"gennaio", "gen", ""},
     {"febbraio", "feb", ""},
     {"marzo", "mar", ""},
     {"aprile", "apr", ""},
     {"maggio", "mag", ""},
     {"giugno", "giu", ""},
     {"luglio", "lug", ""},
     {"agosto", "ago", ""},
     {"settembre", "set", " sett "},
     {"ottobre", "ott", ""},
     {"novembre", "nov", ""},
     {"dicembre", "dic", ""}},
    {{"janeiro", "jan", ""},
     {"fevereiro", "fev", ""},
     {"março", "mar", ""},
     {"abril", "abr", ""},
     {"maio", "mai", ""},
     {"junho", "jun", ""},
     {"julho", "jul", ""},
     {"agosto", "ago", ""},
     {"setembro", "set", ""},
     {"outubro", "out", ""},
     {"novembro", "nov", ""},
     {"dezembro", "dez", ""}},
    {{"januari", "jan", ""},
     {"februari", "feb", ""},
     {"maart", "mrt", " mar maa "},
     {"april", "apr", ""},
     {"mei", "mei", ""},
     {"juni", "jun", ""},
     {"juli", "jul", ""},
     {"augustus", "aug", ""},
     {"september", "sep", " sept "},
     {"oktober", "okt", ""},
     {"november", "nov", ""},
     {"december", "dec", ""}},
};

/* The letter without its accent of the second byte of a character from U+00C0 to U+00FF. */
static char without_accent(unsigned char second) {
    static const char letters[] = "aaaaaaaceeeeiiiidnooooo/ouuuuyts";
    return letters[second & 0x1f];
}

/* A word in small letters without accents; how many bytes of the text it is. 0: none, or longer
 * than any name. An accent may stand behind its letter (U+0300 on). */
static size_t plain_word(const char *text, char *out) {
    const unsigned char *p = (const unsigned char *)text;
    size_t n = 0, i = 0;
    while (n + 1 < NAME) {
        bool accented = p[i] == 0xc3 && p[i + 1] >= 0x80 && p[i + 1] < 0xc0;
        if (accented)
            out[n++] = without_accent(p[i + 1]);
        else if (ascii_alpha((char)p[i]))
            out[n++] = ascii_lower((char)p[i]);
        else if (!(n && p[i] == 0xcc && p[i + 1] >= 0x80 && p[i + 1] < 0xc0))
            break;
        i += p[i] < 0x80 ? 1 : 2;
    }
    out[n] = 0;
    return n + 1 < NAME ? i : 0;
}

/* Is the word, in small letters without accents, this name? */
static bool same(const char *word, const char *name) {
    for (; *word && *name; word++, name++) {
        bool accent = (unsigned char)*name == 0xc3;
        if (accent) name++;
        if (*word != (accent ? without_accent((unsigned char)*name) : *name)) return false;
    }
    return !*word && !*name;
}

/* Is it the month's name? *whole: in full. */
static bool is_name(const struct name *month, const char *word, bool *whole) {
    *whole = *month->full == *word && same(word, month->full);
    if (*month->full != *word || *whole) return *whole; /* all short ones begin alike */
    if (same(word, month->brief)) return true;
    if (!*month->also) return false;
    size_t n = strlen(word);
    for (const char *p = month->also; (p = strstr(p, word)); p += n)
        if (p[-1] == ' ' && p[n] == ' ') return true; /* the list begins with a blank */
    return false;
}

bool month_read(const char **p, int *month, unsigned *languages) {
    char word[NAME];
    size_t n = plain_word(*p, word);
    bool some = false, cut = false, whole;
    *languages = 0;
    for (int k = 0; k < 12 && n && strlen(word) >= 3; k++)
        for (int i = 0; i < LANGUAGES; i++) {
            if (!is_name(&names[i][k], word, &whole)) continue;
            if (n > strlen(word) && !strchr(names[i][k].full, '\xc3')) continue; /* an accent */
            some = true;
            cut |= !whole;
            *month = k + 1;
            *languages |= 1u << i;
        }
    if (!some) return false;
    *p += n;
    if (**p == '.' && cut) (*p)++;
    return true;
}

/* In capitals, accents and all. */
static void put_upper(const char *text, size_t from, struct buf *out) {
    bool accent = false;
    for (size_t i = 0; text[i]; i++) {
        char c = text[i];
        if (i >= from) c = accent ? (char)(c & ~0x20) : ascii_upper(c);
        accent = (unsigned char)text[i] == 0xc3;
        buf_putc(out, c);
    }
}

void month_write(const char *like, int month, struct buf *out) {
    unsigned languages = 1;
    int of = 0, language = 0;
    char word[NAME], shown[NAME], plain[NAME];
    const char *end = like;
    size_t n = plain_word(like, word);
    if (!month_read(&end, &of, &languages)) of = 1, (void)plain_word("jan", word);
    while (!(languages & 1)) languages >>= 1, language++;
    const struct name *example = &names[language][of - 1], *name = &names[language][month - 1];
    (void)plain_word(example->brief, shown);
    bool whole = strlen(word) > strlen(shown) && !strstr(example->also, word);
    (void)plain_word(example->full, plain);
    const char *text = whole ? name->full : name->brief;
    if (strlen(example->full) > strlen(plain) && n == strlen(word)) { /* its accent is left out */
        (void)plain_word(text, shown);
        text = shown;
    }
    bool first = n && ascii_alpha(*like) && *like != ascii_lower(*like);
    bool rest = n > 1 && ascii_alpha(like[n - 1]) && like[n - 1] != ascii_lower(like[n - 1]);
    struct buf capitals = BUF_INIT;
    if (rest)
        put_upper(text, 0, &capitals);
    else
        buf_puts(&capitals, text);
    if (first && !rest) capitals.data[0] = ascii_upper(capitals.data[0]);
    buf_add(out, capitals.data, capitals.len);
    buf_release(&capitals);
    if (n && like[n] == '.' && !whole && strcmp(name->full, name->brief)) buf_putc(out, '.');
}
