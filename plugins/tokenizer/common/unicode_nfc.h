/*
 * unicode_nfc.h - canonical composition (NFC, Unicode Standard Annex 15) of well-formed UTF-8.
 */
#ifndef TENON_UNICODE_NFC_H
#define TENON_UNICODE_NFC_H

#include "token_memory.h"

/** Memory of tn_nfc(), kept from call to call. */
typedef struct tn_nfc_room {
    tn_scratch characters, sorted, text;
} tn_nfc_room;

/**
 * Composes *text: leaves it if it is composed already, else points it into `room`. TN_OK or TN_E_MEMORY.
 * Time is linear in the size, runs of combining marks of any length included.
 */
int32_t tn_nfc(tn_nfc_room *room, const unsigned char **text, uint64_t *size);
void tn_nfc_free(tn_nfc_room *room);

#endif
