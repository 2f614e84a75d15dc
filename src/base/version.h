/* SPDX-License-Identifier: Apache-2.0
 *
 * The version of the library, "X.Y.Z". One file is compiled with it (CMakeLists.txt,
 * web/CMakeLists.txt), so that a release changes one object.
 */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

const char *version_text(void);
#endif
