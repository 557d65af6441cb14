/*
 * compare_f32 A B TOLERANCE: two files of float32 with the same count, no difference above the tolerance. A
 * file that begins like a NumPy array is read past its header. Prints the largest difference.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *read_floats(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file), skip = 0;
    unsigned char head[10] = {0};
    rewind(file);
    if (fread(head, 1, 10, file) == 10 && memcmp(head, "\x93NUMPY", 6) == 0) {
        skip = 10 + head[8] + 256 * head[9];
    }
    float *data = malloc((size_t)(size - skip) + 1);
    fseek(file, skip, SEEK_SET);
    *count = fread(data, sizeof *data, (size_t)(size - skip) / sizeof *data, file);
    fclose(file);
    return data;
}

int main(int argc, char **argv) {
    if (argc != 4) { return 2; }
    size_t a_count, b_count;
    float *a = read_floats(argv[1], &a_count), *b = read_floats(argv[2], &b_count);
    double worst = 0;
    if (a_count != b_count || a_count == 0) {
        printf("%zu numbers and %zu numbers\n", a_count, b_count);
        return 1;
    }
    for (size_t i = 0; i < a_count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        if (!(difference <= worst)) { worst = difference; } /* a NaN sticks */
    }
    printf("largest difference of %zu numbers: %g\n", a_count, worst);
    free(a);
    free(b);
    return !(worst <= strtod(argv[3], NULL));
}
