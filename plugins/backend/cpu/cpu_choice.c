/*
 * cpu_choice.c - which kernels serve a weight, and which ops are served at all.
 *
 * The form of the activations is fixed by the weight alone, never by how many rows a step has: int8 codes
 * with a scale for 32 columns where the format has kernels for them, floats else. A product whose rows are
 * only those asked for, the last one of a model, takes two planes of such codes. Which kernel of that form
 * runs then follows from the machine and the number of rows; they all give the same bits.
 */
#include "cpu.h"

#include <string.h>

enum { PANEL_COLS = 256, PANEL_BYTES = 1024, EXPERTS_MOST = 1 << 24 /* a route keeps numbers as floats */ };

const tn_format_kernel *cpu_find_kernel(const tn_format *format, uint64_t isa, uint32_t kind, uint32_t form) {
    const tn_format_kernel *best = NULL;
    for (uint32_t i = 0; i < format->kernel_count; i++) {
        const tn_format_kernel *k = format->kernels[i];
        if (k->kind != kind || k->form != form || (k->isa & ~isa)) { continue; }
        if (!best || k->rank > best->rank) { best = k; }
    }
    return best;
}

/* Panels are cut at multiples of 256 columns. */
static bool fits_panel(const tn_format *format, const tn_format_kernel *unpack) {
    return PANEL_COLS % format->block == 0 && (unpack->form != TN_PANEL_P16 || format->block == PANEL_COLS) &&
           unpack->group >= 16 && PANEL_COLS % unpack->group == 0 &&
           PANEL_COLS / format->block * format->block_bytes <= PANEL_BYTES;
}

/* The product that a value comes from: through marks, choices of rows, and what is added to it. */
static uint32_t product_of(const tn_graph *graph, uint32_t value) {
    const tn_node *node = graph->nodes[graph->values[value - 1]->node];
    while (node->op == TN_OP_mark || node->op == TN_OP_rows || node->op == TN_OP_add) {
        value = node->inputs[0];
        node = graph->nodes[graph->values[value - 1]->node];
    }
    return value;
}

/* The result goes into a route: activations stay floats, for a flipped choice is no rounding error. */
static bool feeds_route(const tn_graph *graph, const tn_node *node) {
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const tn_node *other = graph->nodes[i];
        if (other->op == TN_OP_route && product_of(graph, other->inputs[0]) == node->result) { return true; }
    }
    return false;
}

/* The values of an encoder's attention: of all its products the one whose rounding shows most in the result, and a
 * twelfth of its multiplications. */
static bool feeds_values(const tn_graph *graph, const tn_node *node) {
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const tn_node *other = graph->nodes[i];
        if (other->op == TN_OP_attend && product_of(graph, other->inputs[2]) == node->result) {
            return !((const tn_attend *)other->attributes)->cached;
        }
    }
    return false;
}

static void serve_floats(const cpu_backend *backend, const tn_format *format, cpu_service *out) {
    uint64_t isa = backend->host->isa;
    *out = (cpu_service){.form = TN_FORM_F32,
                         .planes = 1,
                         .gemv = cpu_find_kernel(format, isa, TN_KERNEL_GEMV, TN_FORM_F32),
                         .unpack = cpu_find_kernel(format, isa, TN_KERNEL_UNPACK, TN_PANEL_F32)};
}

void cpu_serve(const cpu_backend *backend, const tn_weight *weight, cpu_service *out) {
    const tn_format *format = weight->format;
    uint64_t isa = backend->host->isa;
    *out = (cpu_service){.form = TN_FORM_I8X32, .planes = 1};
    if (!(format->flags & TN_FORMAT_FLOAT) && weight->cols % 32 == 0) {
        out->gemv = cpu_find_kernel(format, isa, TN_KERNEL_GEMV, TN_FORM_I8X32);
        out->unpack = cpu_find_kernel(format, isa, TN_KERNEL_UNPACK, TN_PANEL_P8);
        if (!out->unpack) { out->unpack = cpu_find_kernel(format, isa, TN_KERNEL_UNPACK, TN_PANEL_P16); }
        if (out->unpack && !fits_panel(format, out->unpack)) { out->unpack = NULL; }
        if (out->unpack) { out->has_minimum = out->unpack->minimums; }
    }
    if (!out->gemv && !out->unpack) { serve_floats(backend, format, out); }
}

void cpu_serve_linear(const cpu_backend *backend, const tn_graph *graph, const tn_node *node,
                      cpu_service *out) {
    const tn_weight *weight = graph->weights[node->weights[0] - 1];
    if (feeds_route(graph, node)) {
        serve_floats(backend, weight->format, out);
        return;
    }
    cpu_serve(backend, weight, out);
    if (out->form == TN_FORM_I8X32 &&
        (graph->values[node->result - 1]->rows != TN_ROWS_T || feeds_values(graph, node))) {
        out->planes = 2;
    }
}

/* ---- supports --------------------------------------------------------------------------------------- */

/* Appends to a text of fixed size; what does not fit is cut. */
TN_PRINTF(3, 4)
static void append(char *text, size_t capacity, const char *format, ...) {
    size_t size = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + size, capacity - size, format, args);
    va_end(args);
}

static const char *form_name(const tn_format_kernel *k) {
    static const char *const forms[] = {"", "f32", "i8x32", "i8x256", "i16x256"};
    static const char *const panels[] = {"", "p8", "p16", "f32"};
    if (k->kind == TN_KERNEL_GEMV) { return k->form <= TN_FORM_I16X256 ? forms[k->form] : "of a later form"; }
    return k->form <= TN_PANEL_F32 ? panels[k->form] : "of a later form";
}

/* Why a kernel of the format is not the one. */
static const char *refusal(const cpu_backend *backend, const cpu_service *s, const tn_format_kernel *k) {
    uint32_t panel = s->form == TN_FORM_F32 ? TN_PANEL_F32 : s->unpack ? s->unpack->form : TN_PANEL_P8;
    if (k->isa & ~backend->host->isa) { return "not on this machine"; }
    if (k->form != (k->kind == TN_KERNEL_GEMV ? s->form : panel)) { return "another form"; }
    return "lower rank";
}

/* The kernels that serve a weight, and why not the others of its format. */
static void describe_service(const cpu_backend *backend, const tn_weight *w, const cpu_service *s,
                             tn_choice *choice) {
    char *text = choice->kernel;
    if (s->gemv) { append(text, sizeof choice->kernel, "%s", s->gemv->name); }
    if (s->unpack) {
        append(text, sizeof choice->kernel, "%s%s, gemm %s", s->gemv ? "; " : "", s->unpack->name,
               backend->kernels->name);
    }
    if (!s->gemv && !s->unpack) {
        append(text, sizeof choice->kernel, "%s decoded to f32, dot %s", w->format->name,
               backend->kernels->name);
        append(choice->others, sizeof choice->others, "%s has no kernels for this machine", w->format->name);
    }
    if (s->planes == 2) { append(text, sizeof choice->kernel, "; two planes"); }
    for (uint32_t i = 0; i < w->format->kernel_count; i++) {
        const tn_format_kernel *k = w->format->kernels[i];
        if (k == s->gemv || k == s->unpack || k->kind > TN_KERNEL_UNPACK) { continue; }
        append(choice->others, sizeof choice->others, "%s%s (%s): %s", choice->others[0] ? "; " : "", k->name,
               form_name(k), refusal(backend, s, k));
    }
}

static void describe_linear(const cpu_backend *backend, const tn_graph *graph, const tn_node *node,
                            tn_choice *choice) {
    cpu_service s;
    cpu_serve_linear(backend, graph, node, &s);
    describe_service(backend, graph->weights[node->weights[0] - 1], &s, choice);
}

static void describe_expert_linear(const cpu_backend *backend, const tn_graph *graph, const tn_node *node,
                                   tn_choice *choice) {
    cpu_service s;
    const tn_weight *weight = graph->weights[node->weights[0] - 1];
    cpu_serve(backend, weight, &s);
    describe_service(backend, weight, &s, choice);
}

/* By the matrix up, and by the one behind it if that is of another format. */
static void describe_experts(const cpu_backend *backend, const tn_graph *graph, const tn_node *node,
                             tn_choice *choice) {
    const tn_weight *up = graph->weights[node->weights[1] - 1], *down = graph->weights[node->weights[2] - 1];
    cpu_service s;
    cpu_serve(backend, up, &s);
    describe_service(backend, up, &s, choice);
    cpu_serve(backend, down, &s);
    if (down->format == up->format) { return; }
    append(choice->kernel, sizeof choice->kernel, "; down %s",
           s.gemv     ? s.gemv->name
           : s.unpack ? s.unpack->name
                      : down->format->name);
}

/* What this backend has not, by name. */
static int32_t check_op(const tn_graph *graph, const tn_node *node, tn_error *err) {
    switch (node->op) {
    case TN_OP_route: {
        uint32_t experts = graph->values[node->inputs[0] - 1]->width;
        if (experts <= EXPERTS_MOST) { return TN_OK; }
        TN_FAIL(err, TN_E_OP_UNSUPPORTED, "%s: %u experts, the cpu backend takes %d", node->name, experts,
                EXPERTS_MOST);
    }
    case TN_OP_custom:
        TN_FAIL(err, TN_E_OP_UNSUPPORTED, "%s: no kernel for the custom op %s", node->name,
                ((const tn_custom *)node->attributes)->id);
    default:
        if (node->op >= 1 && node->op <= TN_OP_LAST) { return TN_OK; }
        TN_FAIL(err, TN_E_OP_UNSUPPORTED, "%s: op number %d is newer than the cpu backend", node->name,
                (int)node->op);
    }
}

int32_t cpu_supports(void *self, const tn_graph *graph, uint32_t index, tn_choice *choice, tn_error *err) {
    const cpu_backend *backend = self;
    const tn_node *node = graph->nodes[index];
    TN_TRY(check_op(graph, node, err));
    choice->stable = 1;
    choice->kernel[0] = choice->others[0] = 0;
    switch (node->op) {
    case TN_OP_linear: describe_linear(backend, graph, node, choice); return TN_OK;
    case TN_OP_experts: describe_experts(backend, graph, node, choice); return TN_OK;
    case TN_OP_expert_linear: describe_expert_linear(backend, graph, node, choice); return TN_OK;
    case TN_OP_split:
    case TN_OP_mark: append(choice->kernel, sizeof choice->kernel, "a view"); return TN_OK;
    case TN_OP_rows:
        append(choice->kernel, sizeof choice->kernel, "moved up to where all rows are needed");
        return TN_OK;
    case TN_OP_embed:
        append(choice->kernel, sizeof choice->kernel, "%s decoded",
               graph->weights[node->weights[0] - 1]->format->name);
        return TN_OK;
    default: append(choice->kernel, sizeof choice->kernel, "%s", backend->kernels->name); return TN_OK;
    }
}
