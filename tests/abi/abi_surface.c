/* A library whose functions reach every struct of the ABI, for libabigail. */
#include "tenon/plugin.h"

#define SURFACE(name)                                                                                        \
    TN_EXPORT void surface_##name(const name *p);                                                            \
    void surface_##name(const name *p) {                                                                     \
        (void)p;                                                                                             \
    }
TN_STRUCTS(SURFACE)
