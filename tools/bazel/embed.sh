#!/bin/sh
# embed.sh NAME FILE: the file as a C array `ptc_embedded_NAME` with its size.
set -eu
printf 'extern "C" {\nextern const unsigned char ptc_embedded_%s[];\n' "$1"
printf 'extern const unsigned long ptc_embedded_%s_size;\n' "$1"
printf 'alignas(16) const unsigned char ptc_embedded_%s[] = {\n' "$1"
od -An -v -tx1 "$2" | sed 's/ \(..\)/0x\1,/g'
printf '};\nconst unsigned long ptc_embedded_%s_size = sizeof(ptc_embedded_%s);\n}\n' "$1" "$1"
