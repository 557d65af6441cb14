/*
 * score_base.c - base files: tenon/score.h has their layout. Rows go through in order, a file may be larger than
 * memory.
 */
#include "checked.h"
#include "gguf_mapping.h"
#include "part_file.h"

#include "tenon/score.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = {'T', 'N', 'L', 'O', 'G', 'I', 'T', 'S'};
enum { VERSION = 1 };

typedef struct header {
    char magic[8];
    uint32_t version, width, context, chunks;
} header;
_Static_assert(sizeof(header) == 24, "the header lies in the file as it lies here");

static uint64_t row_count(const tn_base_shape *shape) {
    return (uint64_t)shape->chunks * tn_score_count(shape->context);
}

uint64_t tn_base_bytes(const tn_base_shape *shape) {
    uint64_t ids = (uint64_t)shape->chunks * shape->context, logits, total;
    int fits = tn_mul_u64(row_count(shape), shape->width, &logits) && tn_add_u64(ids, logits, &total) &&
               tn_mul_u64(total, sizeof(float), &total) && tn_add_u64(total, sizeof(header), &total);
    return fits && total <= INT64_MAX ? total : 0;
}

/* What is wrong with a shape, NULL: nothing. */
static const char *shape_fault(const tn_base_shape *shape) {
    if (!shape->width || shape->width > INT32_MAX) { return "a row has from 1 to 2^31 - 1 numbers"; }
    if (shape->context < 3 || shape->context > INT32_MAX) { return "a chunk has from 3 to 2^31 - 1 tokens"; }
    if (!shape->chunks) { return "there is at least one chunk"; }
    return tn_base_bytes(shape) ? NULL : "it would be larger than 2^63 bytes";
}

/* ---- writing --------------------------------------------------------------------------------------------- */

struct tn_base_writer {
    tn_part *part;
    tn_base_shape shape;
    uint64_t rows; /* that are still to come */
};

void tn_base_abandon(tn_base_writer *writer) {
    if (!writer) { return; }
    tn_part_abandon(writer->part);
    free(writer);
}

static int32_t begin(tn_base_writer *writer, const char *path, const int32_t *ids, tn_error *err) {
    const tn_base_shape *shape = &writer->shape;
    header head = {
        .version = VERSION, .width = shape->width, .context = shape->context, .chunks = shape->chunks};
    memcpy(head.magic, magic, sizeof magic);
    TN_TRY(tn_part_create(path, &writer->part, err));
    TN_TRY(tn_part_write(writer->part, &head, sizeof head, err));
    return tn_part_write(writer->part, ids, (uint64_t)shape->chunks * shape->context * sizeof *ids, err);
}

int32_t tn_base_create(const char *path, const tn_base_shape *shape, const int32_t *ids, tn_base_writer **out,
                       tn_error *err) {
    const char *fault = shape_fault(shape);
    *out = NULL;
    if (fault) { TN_FAIL(err, TN_E_INPUT, "%s: %s", tn_path_tail(path), fault); }
    tn_base_writer *writer = calloc(1, sizeof *writer);
    if (!writer) { TN_FAIL(err, TN_E_MEMORY, "%s: no memory left to write it", tn_path_tail(path)); }
    writer->shape = *shape;
    writer->rows = row_count(shape);
    int32_t code = begin(writer, path, ids, err);
    if (code != TN_OK) {
        tn_base_abandon(writer);
        return code;
    }
    *out = writer;
    return TN_OK;
}

const char *tn_base_unfinished(const tn_base_writer *writer) {
    return tn_part_unfinished(writer->part);
}

int32_t tn_base_put(tn_base_writer *writer, const float *rows, uint32_t count, tn_error *err) {
    if (count > writer->rows) {
        TN_FAIL(err, TN_E_INPUT, "%s: %" PRIu32 " rows, %" PRIu64 " were still to come",
                tn_path_tail(writer->part->path), count, writer->rows);
    }
    TN_TRY(tn_part_write(writer->part, rows, (uint64_t)count * writer->shape.width * sizeof *rows, err));
    writer->rows -= count;
    return TN_OK;
}

int32_t tn_base_finish(tn_base_writer *writer, tn_error *err) {
    int32_t code;
    if (writer->rows) {
        code = tn_fail(err, TN_E_INPUT, "%s: %" PRIu64 " rows are missing", tn_path_tail(writer->part->path),
                       writer->rows);
    } else {
        code = tn_part_finish(writer->part, err);
        writer->part = NULL;
    }
    tn_base_abandon(writer);
    return code;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

struct tn_base {
    FILE *in;
    const char *name; /* of the file, for messages */
    char *path;
    tn_base_shape shape;
    int32_t *ids;
    uint64_t rows; /* that are still to come */
};

void tn_base_close(tn_base *base) {
    if (!base) { return; }
    if (base->in) { fclose(base->in); }
    free(base->ids);
    free(base->path);
    free(base);
}

static int32_t read_bytes(tn_base *base, void *out, size_t size, tn_error *err) {
    if (fread(out, 1, size, base->in) == size) { return TN_OK; }
    if (ferror(base->in)) { TN_FAIL(err, TN_E_IO, "%s: %s", base->name, strerror(errno)); }
    TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: the file ends too early", base->name);
}

static int32_t read_header(tn_base *base, uint64_t size, tn_error *err) {
    header head;
    if (size < sizeof head) { TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: too short for a base file", base->name); }
    TN_TRY(read_bytes(base, &head, sizeof head, err));
    if (memcmp(head.magic, magic, sizeof magic) != 0) {
        TN_FAIL(err, TN_E_FILE_KIND, "%s: no base file (those begin with \"TNLOGITS\")", base->name);
    }
    if (head.version != VERSION) {
        TN_FAIL(err, TN_E_FILE_VERSION,
                "%s: a base file of version %" PRIu32 ", this program reads version %d", base->name,
                head.version, VERSION);
    }
    base->shape = (tn_base_shape){head.width, head.context, head.chunks};
    const char *fault = shape_fault(&base->shape);
    if (fault) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: %" PRIu32 " chunks of %" PRIu32 " tokens, rows of %" PRIu32 " numbers: %s", base->name,
                head.chunks, head.context, head.width, fault);
    }
    uint64_t wanted = tn_base_bytes(&base->shape);
    if (size == wanted) { return TN_OK; }
    TN_FAIL(err, TN_E_FILE_DAMAGED,
            "%s: %" PRIu64 " bytes, %" PRIu64 " were expected for %" PRIu32 " chunks of %" PRIu32
            " tokens and rows of %" PRIu32 " numbers",
            base->name, size, wanted, head.chunks, head.context, head.width);
}

/* The size was checked: the ids are no more than the file has bytes. */
static int32_t read_ids(tn_base *base, tn_error *err) {
    uint64_t count = (uint64_t)base->shape.chunks * base->shape.context;
    base->ids = malloc(count * sizeof *base->ids);
    if (!base->ids) { TN_FAIL(err, TN_E_MEMORY, "%s: no memory for %" PRIu64 " ids", base->name, count); }
    TN_TRY(read_bytes(base, base->ids, count * sizeof *base->ids, err));
    for (uint64_t i = 0; i < count; i++) {
        if (base->ids[i] >= 0 && (uint32_t)base->ids[i] < base->shape.width) { continue; }
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: id %" PRIu64 " is %" PRId32 ", a row has %" PRIu32 " numbers",
                base->name, i, base->ids[i], base->shape.width);
    }
    base->rows = row_count(&base->shape);
    return TN_OK;
}

static int32_t open_base(tn_base *base, const char *path, tn_error *err) {
    struct stat st;
    base->path = strdup(path);
    if (!base->path) { TN_FAIL(err, TN_E_MEMORY, "%s: no memory left to read it", tn_path_tail(path)); }
    base->name = tn_path_tail(base->path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO is refused, not waited for */
    base->in = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (!base->in || fstat(fd, &st) != 0) {
        int why = errno;
        if (fd >= 0 && !base->in) { close(fd); }
        TN_FAIL(err, TN_E_IO, "%s: %s", base->name, strerror(why));
    }
    if (!S_ISREG(st.st_mode)) { TN_FAIL(err, TN_E_IO, "%s: not a regular file", base->name); }
    TN_TRY(read_header(base, (uint64_t)st.st_size, err));
    return read_ids(base, err);
}

int32_t tn_base_open(const char *path, tn_base **out, tn_error *err) {
    *out = NULL;
    tn_base *base = calloc(1, sizeof *base);
    if (!base) { TN_FAIL(err, TN_E_MEMORY, "%s: no memory left to read it", tn_path_tail(path)); }
    int32_t code = open_base(base, path, err);
    if (code != TN_OK) {
        tn_base_close(base);
        return code;
    }
    *out = base;
    return TN_OK;
}

const tn_base_shape *tn_base_shape_of(const tn_base *base) {
    return &base->shape;
}

const int32_t *tn_base_ids(const tn_base *base) {
    return base->ids;
}

int32_t tn_base_read(tn_base *base, float *rows, uint32_t count, tn_error *err) {
    if (count > base->rows) {
        TN_FAIL(err, TN_E_INPUT, "%s: %" PRIu32 " rows wanted, %" PRIu64 " are left", base->name, count,
                base->rows);
    }
    TN_TRY(read_bytes(base, rows, (size_t)count * base->shape.width * sizeof *rows, err));
    base->rows -= count;
    return TN_OK;
}
