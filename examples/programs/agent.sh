#!/bin/sh
# The least that an agent must do: it reads a request per line and replies to each with its turn.
while read -r request; do
    turn=$(expr "$request" : '{"turn":\([0-9]*\)')
    case $request in
        *'"type":"hello"'*) reply='"type":"hello","wire":1' ;;
        *'"type":"begin"'*) reply='"type":"ready"' ;;
        *'"type":"act"'*) reply='"type":"move","action":0' ;;
        *) reply='"type":"finished"' ;;
    esac
    echo "{\"turn\":$turn,$reply}"
done
