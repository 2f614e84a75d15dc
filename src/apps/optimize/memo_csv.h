/* SPDX-License-Identifier: Apache-2.0
 *
 * Memo tables as CSV, both ways: one column per input under its name, then value, status, seconds,
 * error, finished, host, replicate. Only the inputs and the value are needed for reading.
 */
#ifndef OPTIMIZE_MEMO_CSV_H
#define OPTIMIZE_MEMO_CSV_H
#include "io/store/memo.h"
#include "apps/optimize/bo_space.h"

GPM_MUST_USE enum gpm_status memo_csv_export(struct memo *m, const struct bo_space *space,
                                             struct buf *out, struct buf *err);
/* Adds every row of the file, all or none; *added counts the new ones. An input that is there
 * already with another value is an error unless `replicate`. */
GPM_MUST_USE enum gpm_status memo_csv_import(struct memo *m, const struct bo_space *space,
                                             const char *path, bool replicate, size_t *added,
                                             struct buf *err);
/* The search space stored with the table; GPM_E_NOT_FOUND (no message) if missing, GPM_E_FORMAT if
 * it does not match the table's rows. */
GPM_MUST_USE enum gpm_status memo_space(struct memo *m, struct bo_space *space, struct buf *err);
/* The same; a table without one has numbers of any size under the names of its inputs. */
GPM_MUST_USE enum gpm_status memo_inputs(struct memo *m, struct bo_space *space, struct buf *err);
/* Nothing when it is not known. */
void memo_time(struct buf *out, const char *format, double when);
#endif
