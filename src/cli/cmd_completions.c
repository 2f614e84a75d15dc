/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem completions SHELL: a completion script for bash, zsh or fish, written from the table of
 * commands. `make install` puts the three where the shells look for them.
 */
#include "cli/command.h"
#include <string.h>

static bool has_argument(const struct option_row *o) {
    return o->kind != OPTION_FLAG && o->kind != OPTION_COUNT;
}

static bool wants_path(const char *arg) {
    return arg && (strcmp(arg, "FILE") == 0 || strcmp(arg, "DIR") == 0 || strcmp(arg, "RUN") == 0);
}

/* "a|b" as "a b". */
static void print_words(const char *words) {
    for (; *words; words++) putchar(*words == '|' ? ' ' : *words);
}

static void print_command_names(void) {
    for (const struct command *const *c = command_list(); *c; c++) {
        if (!(*c)->hidden) printf("%s ", (*c)->name);
    }
}

static void print_topic(void *user, const char *name) {
    printf("%s ", name);
}

/* What `gpmem help` explains: commands, then the names of the language. */
static void print_topics(void) {
    struct gpm_options o;
    gpm_options_init(&o);
    gpm_session *s = gpm_session_new(&o);
    print_command_names();
    if (s) gpm_complete(s, "", print_topic, NULL);
    gpm_session_free(s);
}

/* Text inside single quotes of a shell; `extra` characters get a backslash. */
static void print_quoted(const char *text, const char *extra) {
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", stdout);
        } else {
            if (strchr(extra, *text)) putchar('\\');
            putchar(*text);
        }
    }
}

/* ---- bash ---- */

static void bash_options(const struct command *c, const char *name) {
    printf("        %s)\n            case $prev in\n", name);
    for (size_t i = 0; i < c->n_options; i++) {
        const struct option_row *o = &c->options[i];
        if (!has_argument(o)) continue;
        printf("                --%s", o->name);
        if (o->letter) printf("|-%c", o->letter);
        if (o->kind == OPTION_CHOICE) {
            fputs(") COMPREPLY=($(compgen -W '", stdout);
            print_words(o->arg);
            fputs("' -- \"$cur\")); return ;;\n", stdout);
        } else if (wants_path(o->arg)) {
            fputs(") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", stdout);
        } else {
            fputs(") return ;;\n", stdout);
        }
    }
    fputs("            esac\n            options='", stdout);
    for (size_t i = 0; i < c->n_options; i++) printf("--%s ", c->options[i].name);
    size_t n;
    const struct option_row *common = common_options(&n);
    for (size_t i = 0; i < n; i++) printf("--%s ", common[i].name);
    fputs("' ;;\n", stdout);
}

static void print_bash(void) {
    fputs("# bash completion of gpmem\n_gpmem() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command= options= i\n    local commands='",
          stdout);
    print_command_names();
    fputs("'\n    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case \" $commands \" in *\" ${COMP_WORDS[i]} \"*) command=${COMP_WORDS[i]}; "
          "break ;; "
          "esac\n    done\n    COMPREPLY=()\n    case $command in\n",
          stdout);
    for (const struct command *const *c = command_list(); *c; c++) {
        if (!(*c)->hidden) bash_options(*c, (*c)->name);
    }
    bash_options(&command_prompt, "''");
    fputs("    esac\n"
          "    if [[ $cur == -* ]]; then\n"
          "        [[ -n $command ]] || options=\"$options --version\"\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
          "    elif [[ -z $command ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
          "    elif [[ $command == help ]]; then\n"
          "        COMPREPLY=($(compgen -W '",
          stdout);
    print_topics();
    fputs("' -- \"$cur\"))\n"
          "    elif [[ $command == completions ]]; then\n"
          "        COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\"))\n"
          "    else\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n}\n"
          "complete -o filenames -F _gpmem gpmem\n",
          stdout);
}

/* ---- zsh ---- */

static void zsh_option(const struct option_row *o) {
    fputs("                '", stdout);
    if (o->kind == OPTION_COUNT || o->kind == OPTION_LIST) {
        putchar('*');
    } else if (o->letter) {
        printf("(-%c --%s)", o->letter, o->name);
    }
    if (o->letter) printf("'{-%c,--%s}'", o->letter, o->name);
    if (!o->letter) printf("--%s", o->name);
    putchar('[');
    print_quoted(o->help, "[]:");
    putchar(']');
    if (o->kind == OPTION_CHOICE) {
        fputs(":value:(", stdout);
        print_words(o->arg);
        putchar(')');
    } else if (has_argument(o)) {
        printf(":%s:%s", o->arg, wants_path(o->arg) ? "_files" : "");
    }
    fputs("' \\\n", stdout);
}

static void zsh_options(const struct command *c) {
    for (size_t i = 0; i < c->n_options; i++) zsh_option(&c->options[i]);
    size_t n;
    const struct option_row *common = common_options(&n);
    for (size_t i = 0; i < n; i++) zsh_option(&common[i]);
}

static void print_zsh(void) {
    fputs("#compdef gpmem\n_gpmem() {\n    local -a commands\n    commands=(\n", stdout);
    for (const struct command *const *c = command_list(); *c; c++) {
        if ((*c)->hidden) continue;
        printf("        '%s:", (*c)->name);
        print_quoted((*c)->summary, ":");
        fputs("'\n", stdout);
    }
    fputs("    )\n    local context state state_descr line\n    typeset -A opt_args\n"
          "    _arguments -C \\\n",
          stdout);
    zsh_options(&command_prompt);
    fputs("                '--version[print the version]' \\\n"
          "                '1:command:->command' '*::argument:->argument'\n"
          "    case $state in\n    command) _describe command commands ;;\n    argument)\n"
          "        case $words[1] in\n",
          stdout);
    for (const struct command *const *c = command_list(); *c; c++) {
        if ((*c)->hidden) continue;
        printf("            %s) _arguments \\\n", (*c)->name);
        zsh_options(*c);
        fputs("                '*:argument:", stdout);
        if (strcmp((*c)->name, "help") == 0) {
            putchar('(');
            print_topics();
            fputs(")' ;;\n", stdout);
            continue;
        }
        printf("%s' ;;\n", strcmp((*c)->name, "completions") == 0 ? "(bash zsh fish)" : "_files");
    }
    fputs("        esac ;;\n    esac\n}\n_gpmem \"$@\"\n", stdout);
}

/* ---- fish ---- */

/* condition NULL: everywhere */
static void fish_options(const struct option_row *rows, size_t n, const char *condition) {
    for (size_t i = 0; i < n; i++) {
        const struct option_row *o = &rows[i];
        fputs("complete -c gpmem", stdout);
        if (condition) printf(" -n '%s'", condition);
        printf(" -l %s", o->name);
        if (o->letter) printf(" -s %c", o->letter);
        if (o->kind == OPTION_CHOICE) {
            fputs(" -x -a '", stdout);
            print_words(o->arg);
            putchar('\'');
        } else if (has_argument(o)) {
            fputs(wants_path(o->arg) ? " -r -F" : " -x", stdout);
        }
        fputs(" -d '", stdout);
        for (const char *t = o->help; *t; t++) {
            if (*t == '\'') putchar('\\');
            putchar(*t);
        }
        fputs("'\n", stdout);
    }
}

static void print_fish(void) {
    fputs("# fish completion of gpmem\n", stdout);
    for (const struct command *const *c = command_list(); *c; c++) {
        char condition[96];
        if ((*c)->hidden) continue;
        printf("complete -c gpmem -n __fish_use_subcommand -f -a %s -d '%s'\n", (*c)->name,
               (*c)->summary);
        snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %s", (*c)->name);
        fish_options((*c)->options, (*c)->n_options, condition);
    }
    fish_options(command_prompt.options, command_prompt.n_options, "__fish_use_subcommand");
    size_t n;
    const struct option_row *common = common_options(&n);
    fish_options(common, n, NULL);
    fputs("complete -c gpmem -n __fish_use_subcommand -l version -d 'print the version'\n"
          "complete -c gpmem -n '__fish_seen_subcommand_from completions' -f -a 'bash zsh fish'\n"
          "complete -c gpmem -n '__fish_seen_subcommand_from help' -f -a '",
          stdout);
    print_topics();
    fputs("'\n", stdout);
}

static int run(const void *opts, int argc, char **argv) {
    if (strcmp(argv[0], "bash") == 0) {
        print_bash();
    } else if (strcmp(argv[0], "zsh") == 0) {
        print_zsh();
    } else if (strcmp(argv[0], "fish") == 0) {
        print_fish();
    } else {
        return complain(EXIT_USAGE, "there is no completion for '%s'; bash, zsh and fish have one",
                        argv[0]);
    }
    return EXIT_FINE;
}

COMMAND(completions) = {
    .place = 210,
    .name = "completions",
    .args = "bash|zsh|fish",
    .summary = "Prints a completion script for a shell",
    .text = "For bash: source <(gpmem completions bash). `make install` installs all three.",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
