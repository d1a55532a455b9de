#!/bin/sh
# Run once by the postgres image, when its volume is empty: one role and database for oncehook, one role for Temporal,
# which makes its own two databases. Neither is a superuser.
set -eu

psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
  --set oncehook_password="$ONCEHOOK_DB_PASSWORD" --set temporal_password="$TEMPORAL_DB_PASSWORD" <<'SQL'
create role oncehook login password :'oncehook_password';
create database oncehook owner oncehook encoding 'UTF8' template template0;
create role temporal login createdb password :'temporal_password';
SQL
