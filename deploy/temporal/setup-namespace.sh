#!/bin/sh
# Creates the namespace and oncehook's search attributes. May run at every start.
# Reads TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE, as the temporal CLI does.
set -eu

attempts=60
until temporal operator cluster health >/dev/null 2>&1; do
  attempts=$((attempts - 1))
  [ "$attempts" -gt 0 ] || { echo "Temporal at $TEMPORAL_ADDRESS does not become healthy" >&2; exit 1; }
  sleep 2
done

# How long closed workflows can be looked at. What makes an event unique is in PostgreSQL and outlives it.
temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 7d

# A new namespace is known to every part of the cluster after a few seconds only.
attempts=30
until temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" \
  --name WebhookScope --type Keyword --name WebhookEventType --type Keyword \
  --name WebhookStatus --type Keyword --name OrderId --type Keyword; do
  attempts=$((attempts - 1))
  [ "$attempts" -gt 0 ] || { echo 'The search attributes could not be created' >&2; exit 1; }
  sleep 2
done
