-- What models read from and put into a provider's cache, as JSON [read, written]. Null: none, as with most attempts.
-- min_reader: 6
-- min_writer: 7

alter table held add column tokens_cached text;
alter table attempt add column tokens_cached text;
