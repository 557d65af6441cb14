// peer_embed.cpp - what bench_embed measures, by llama.cpp: the same texts, batches as large as its examples make them.
// Of one thread it is the processor's time. Built by compare_embed.py against the peer's headers and libraries.
//
//     peer_embed MODEL.gguf THREADS SECONDS [BATCH] < texts, one a line
#include "llama.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

static double now(bool alone) {
    timespec t;
    clock_gettime(alone ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void flush(llama_context *context, llama_batch &batch, int texts, int width, std::vector<float> &out) {
    if (llama_encode(context, batch) != 0) {
        fprintf(stderr, "peer_embed: llama_encode failed\n");
        exit(1);
    }
    for (int s = 0; s < texts; s++) {
        const float *row = llama_get_embeddings_seq(context, s);
        out.insert(out.end(), row, row + width);
    }
    batch.n_tokens = 0;
}

static void add(llama_batch &batch, const std::vector<llama_token> &ids, int sequence) {
    for (size_t i = 0; i < ids.size(); i++) {
        int at = batch.n_tokens++;
        batch.token[at] = ids[i];
        batch.pos[at] = (llama_pos)i;
        batch.n_seq_id[at] = 1;
        batch.seq_id[at][0] = sequence;
        batch.logits[at] = 1;
    }
}

static void run(llama_context *context, llama_batch &batch, const std::vector<std::vector<llama_token>> &texts, int most,
                int width, std::vector<float> &out) {
    int sequences = 0;
    out.clear();
    for (const auto &ids : texts) {
        if (batch.n_tokens + (int)ids.size() > most || sequences == 256) {
            flush(context, batch, sequences, width, out);
            sequences = 0;
        }
        add(batch, ids, sequences++);
    }
    flush(context, batch, sequences, width, out);
}

int main(int argc, char **argv) {
    if (argc < 4) { return 2; }
    int threads = atoi(argv[2]), most = argc > 4 ? atoi(argv[4]) : 512;
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_backend_init();
    llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = most;
    params.n_seq_max = 256;
    params.n_threads = params.n_threads_batch = threads;
    params.embeddings = true;
    params.kv_unified = true;
    llama_context *context = llama_init_from_model(model, params);
    if (!context) { return 1; }
    const llama_vocab *vocab = llama_model_get_vocab(model);
    std::vector<std::vector<llama_token>> texts;
    for (std::string line; std::getline(std::cin, line);) {
        std::vector<llama_token> ids(line.size() + 8);
        ids.resize(llama_tokenize(vocab, line.data(), (int)line.size(), ids.data(), (int)ids.size(), true, false));
        texts.push_back(ids);
    }
    llama_batch batch = llama_batch_init(most, 0, 1);
    std::vector<float> out;
    int width = llama_model_n_embd(model);
    run(context, batch, texts, most, width, out);
    bool alone = threads == 1;
    double least = 1e30, end = now(alone) + atof(argv[3]);
    do {
        double start = now(alone);
        run(context, batch, texts, most, width, out);
        double spent = now(alone) - start;
        least = spent < least ? spent : least;
    } while (now(alone) < end);
    printf("%.2f\n", texts.size() / least);
    return 0;
}
