#!/bin/sh
# What a release is stamped with (--config=release): the commit, and a + where files differ from it.
commit=$(git rev-parse --short=12 HEAD 2>/dev/null) || exit 0
git diff --quiet HEAD 2>/dev/null || commit="$commit+"
echo "STABLE_PTC_COMMIT $commit"
