-- What was found in each invalid field of a rejected request: a class, never a value.
create function rowhouse.is_found(found text[], paths text[]) returns boolean
  language sql immutable set search_path = pg_catalog, pg_temp as $$
  select (found <@ array[
    'missing', 'null', 'boolean', 'integer', 'decimal', 'inexact', 'list', 'object', 'empty',
    'blank', 'unstorable', 'boolean_text', 'number_text', 'date_text', 'time_text', 'id_text',
    'text_10', 'text_100', 'text_1000', 'text'
  ]) is true and cardinality(found) in (0, cardinality(paths))
$$;
alter table rowhouse.stored_requests add column found text[] not null default '{}'
  check (cardinality(found) <= 20),
  add check (rowhouse.is_found(found, paths));
