/* Replays a corpus through a fuzz target without a fuzzer: replay FILE|FOLDER... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) {
        perror(path);
        exit(1);
    }
    if (S_ISDIR(st.st_mode)) {
        int count = 0;
        DIR *dir = opendir(path);
        for (struct dirent *e; dir && (e = readdir(dir));) {
            char name[4096];
            if (e->d_name[0] == '.') { continue; }
            snprintf(name, sizeof name, "%s/%s", path, e->d_name);
            count += replay(name);
        }
        if (dir) { closedir(dir); }
        return count;
    }
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc((size_t)st.st_size + 1);
    if (!f || !data || fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
        perror(path);
        exit(1);
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
    free(data);
    return 1;
}

int main(int argc, char **argv) {
    int count = 0;
    for (int i = 1; i < argc; i++) { count += replay(argv[i]); }
    printf("%d inputs replayed\n", count);
    return count > 0 ? 0 : 1;
}
