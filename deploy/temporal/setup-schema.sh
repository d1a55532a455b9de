#!/bin/sh
# Creates or upgrades Temporal's two databases. May run at every start: what is there already is left alone.
# Reads SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD, as temporal-sql-tool does.
set -eu

schemas=${TEMPORAL_SCHEMAS:-/etc/temporal/schema/postgresql/v12}

setup() {
  temporal-sql-tool --database "$1" create
  temporal-sql-tool --database "$1" setup-schema --version 0.0
  temporal-sql-tool --database "$1" update-schema --schema-dir "$schemas/$2/versioned"
}

setup temporal temporal
setup temporal_visibility visibility
