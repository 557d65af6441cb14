#!/bin/bash
# jinja_oracle.sh RENDERER [COUNT [SEED]]: random templates and conversations, rendered by Python's jinja2 and by us.
# A status of 77 skips it, where there is no Python with jinja2 3.1.
python3 -c 'import jinja2; assert jinja2.__version__.startswith("3.1.")' 2>/dev/null || {
    echo "skipped: no Python with jinja2 3.1"
    exit 77
}
PYTHONDONTWRITEBYTECODE=1 exec python3 -W ignore "$(dirname "$0")/jinja_oracle.py" "$@"
