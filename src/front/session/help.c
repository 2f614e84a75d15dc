/* SPDX-License-Identifier: Apache-2.0
 *
 * Help and completion, from the tables of procedures and operators. */
#include "front/session/session.h"
#include "base/json.h"

#include "gp/kernel/kern_class.h"
#include "gp/kernel/kernel.h"

#include <string.h>

/* What has a syntax of its own and is no row of a table: directives, forms of expressions, names of
 * blocks. tests/docs/run_words.py compares with the lexer, the parser and the session. */
static const struct {
    const char *name, *form, *doc;
} words[] = {
    {"assume", " x = e",
     "evaluates e in the model, keeps it and binds x; assume (x, y) = e takes "
     "several values apart"},
    {"observe", " e = v",
     "evaluates e in the model and constrains the random choice that it ends "
     "in to v; label: observe e = v gives it a name to forget it by"},
    {"predict", " e", "evaluates e in the model, keeps it and gives its value"},
    {"force", " e = v", "sets the random choice that e ends in to v and leaves it free"},
    {"infer", " a", "runs the action a, such as mh(default, one, 100)"},
    {"define", " x = e", "binds x in the inference program"},
    {"load", " \"file\"", "runs another file; its path is relative to this one"},
    {"for", " (i = 0; i < n; i++) { ... }", "runs its statements once for each i"},
    {"if", " (condition) { a } else { b }", "a or b; only the chosen one is evaluated"},
    {"else", " { b }", "the other branch of if; it is compulsory"},
    {"proc", "(x, y) { e }", "a procedure; x -> e and (x, y) -> e are the same"},
    {"lambda", "", "procedures are written proc(x) { e } or x -> e"},
    {"let", " x = e", "binds x for the rest of the block; let (x, y) = e takes values apart"},
    {"letrec", " x = e; and y = f", "binds procedures that may use each other"},
    {"true", "", "the boolean; 1 where a number is observed"},
    {"false", "", "the boolean; 0 where a number is observed"},
    {"and", "", "a && b and and(a, b): b is evaluated only when a is true"},
    {"or", "", "a || b and or(a, b): b is evaluated only when a is false"},
    {"le", "", "a le b is a <= b; the procedure is lte"},
    {"ge", "", "a ge b is a >= b; the procedure is gte"},
    {"do", "(a, x <- b, ...)",
     "an action that runs its actions in order; x <- b names the result "
     "of b for those after it; action(e) makes an action of a plain "
     "expression such as print(x)"},
    {"begin", "(a, b, ...)", "the same as do"},
    {"collect", "(e, labelled(f, name), ...)",
     "an action that records values of model expressions "
     "as one row of a dataset"},
    {"labelled", "(e, name)", "inside collect: the column of e is called name"},
    {"call_back", "(name, e, ...)",
     "an action that hands the values of model expressions in every "
     "particle to a function of the host program"},
    {"factor", "(lp, label)",
     "adds lp, a number or the sum of a sequence, to the log density of the model: what "
     "Stan writes target += lp; the label may be left out"},
    {"data", " n, y",
     "the names that the program must be given (--data, data= of run); `data` itself is then a "
     "dictionary of all that was given"},
    {"exact_posterior", "(e)",
     "an action that gives the exact distribution of e given the observations, by trying all "
     "values "
     "of all choices: d() draws from it, assess(v, d) is a log probability, support(d) and "
     "probabilities(d) are its table"},
    {"extract_stats", "(e)", "an action that gives the statistics of the made procedure e"},
    {"sample_all", "(e)", "an action: sample e in every particle, as a list"},
    {"predict_all", "(e)", "an action: predict e in every particle, as a list"},
    {"quote", "(e)", "the expression itself, as data"},
    {"quasiquote", "(e)", "[| e |]: a model expression as a value, with unquote(x) inside"},
    {"unquote", "(x)",
     "in a model expression: the value that x has in the inference program; $x is "
     "short for it"},
    {"one", "", "block: one block of the scope, chosen anew at each transition"},
    {"all", "", "block: every choice of the scope at once"},
    {"each", "", "block: one block after the other, in order"},
    {"each_reverse", "", "block: one block after the other, the last first"},
    {"ordered", "", "block: all blocks, in order (particle Gibbs)"},
    {"none", "", "block: nothing"},
    {"default", "", "scope: every random choice of the model"},
};

/* Procedures of the library that is written in the language; ends with a row without name. */
extern const struct help_row embed_prelude_vnts_rows[];

/* One entry of help; kind NULL: hidden. */
struct help_entry {
    struct help_row row;
    const char *kind;
};

/* Everything that has help: the words, the library, the tables. False: there are no more. */
static bool entry_at(size_t i, struct help_entry *e) {
    size_t n_library = 0;
    while (embed_prelude_vnts_rows[n_library].name) n_library++;
    const size_t n_words = COUNT_OF(words), n_text = n_words + n_library;
    if (i >= n_text + sp_index_count()) return false;
    if (i < n_text) {
        *e = i < n_words
                 ? (struct help_entry){{words[i].name, words[i].form, words[i].doc, NULL}, "word"}
                 : (struct help_entry){embed_prelude_vnts_rows[i - n_words], "procedure"};
        return true;
    }
    const struct sp_class *c = sp_index_at(i - n_text);
    *e = (struct help_entry){{c->name, c->sig, c->doc, c->example},
                             c->flags & SP_HIDDEN   ? NULL
                             : c->flags & SP_RANDOM ? "random"
                             : c->flags & SP_MAKER  ? "maker"
                             : infer_op_of(c)       ? "operator"
                                                    : "procedure"};
    return true;
}

/* A kernel by the symbol that structures print: SE, LIN, PER, ... */
static bool describe_kernel(const char *name, struct buf *out) {
    const struct kern_class *k = kern_class_find(name);
    if (!k) return false;
    buf_printf(out, "%s(", name);
    for (size_t i = 0; i < k->npar; i++) buf_printf(out, "%s%s", i ? ", " : "", k->par[i].name);
    buf_printf(out, "): a kernel, %s\n    %s\n", k->phrase, k->doc);
    const char *maker = kern_class_maker(k, 0);
    buf_printf(out, "    as text: parse(\"%s...\")%s%s\n", name, maker ? "; as a procedure: " : "",
               maker ? maker : "");
    return true;
}

bool session_help(struct session *s, const char *name, struct buf *out) {
    struct help_entry e;
    struct help_row found = {0};
    for (size_t i = 0; entry_at(i, &e); i++)
        if (!strcmp(e.row.name, name)) found = e.row;
    if (found.name) {
        buf_printf(out, "%s%s\n    %s\n", name, found.form, found.doc ? found.doc : "");
        if (found.example) buf_printf(out, "    example: %s\n", found.example);
        return true;
    }
    if (describe_kernel(name, out)) return true;
    struct sym *y = sym_cstr(&s->syms, name);
    if (map_get(&s->core.defines, MAP_PTR(y))) {
        buf_printf(out, "%s: defined in this session\n", name);
        return true;
    }
    if (world_find(&s->infer.model->p.at[0]->world, y)) {
        buf_printf(out, "%s: assumed in the current model\n", name);
        return true;
    }
    return false;
}

void session_reference_json(struct session *s, struct buf *out) {
    struct help_entry e;
    buf_puts(out, "[\n");
    for (size_t i = 0; entry_at(i, &e); i++) {
        if (!e.kind) continue;
        const struct help_row *r = &e.row;
        buf_puts(out, i ? ",\n{" : "{");
        JSON(out, FIELD("kind", e.kind), FIELD("name", r->name), FIELD("signature", r->form),
             FIELD("doc", r->doc));
        if (r->example) JSON(out, FIELD("example", r->example));
        buf_putc(out, '}');
    }
    buf_puts(out, "\n]\n");
}

void session_complete(struct session *s, const char *prefix, void (*each)(void *, const char *),
                      void *user) {
    size_t n = strlen(prefix);
    struct help_entry e;
    for (size_t i = 0; entry_at(i, &e); i++)
        if (e.kind && !strncmp(e.row.name, prefix, n)) each(user, e.row.name);
    for (size_t i = 0; i < s->core.define_names.n; i++) { /* those of the library have rows */
        struct sym *y = s->core.define_names.at[i];
        const struct define_slot *d = map_get(&s->core.defines, MAP_PTR(y));
        if (!d->library && !strncmp(y->text, prefix, n)) each(user, y->text);
    }
    const char **names;
    size_t n_names = trace_names(s->infer.model->p.at[0], &names);
    for (size_t i = 0; i < n_names; i++)
        if (!strncmp(names[i], prefix, n)) each(user, names[i]);
    mem_free(names);
}
