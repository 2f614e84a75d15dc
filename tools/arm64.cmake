# Cross build for 64-bit ARM with Debian's compiler and arm64 libraries; tests run under qemu-user. Packages:
# gcc-aarch64-linux-gnu qemu-user and, after `dpkg --add-architecture arm64`, libopenblas-dev:arm64 libsqlite3-dev:arm64
# libjansson-dev:arm64 libedit-dev:arm64 libcmocka-dev:arm64. Then: cmake --preset arm64 && cmake --build build-arm64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_FIND_ROOT_PATH /usr/lib/aarch64-linux-gnu /usr/aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
