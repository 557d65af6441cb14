/* A library that no plugin may need. */
extern __attribute__((visibility("default"))) const int tenon_foreign;
const int tenon_foreign = 1;
