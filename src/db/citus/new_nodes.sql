-- Nodes that migrate has set up. Other nodes get no shards: they lack roles and rights, so apps
-- whose rows moved there would fail.
create table if not exists rowhouse.nodes (id integer primary key);
alter table rowhouse.nodes owner to rowhouse_owner;
grant select on rowhouse.nodes
  to rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- Excludes a new node from rebalancing, and makes Citus reject moves of shards to it. Owned by the
-- superuser who migrates: Citus changes the node's property on every node as the caller.
create or replace function rowhouse.hold_new_nodes() returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false)
    from pg_dist_node
    where noderole = 'primary' and groupid <> 0 and shouldhaveshards
      and nodeid not in (select id from rowhouse.nodes);
end
$$;
revoke execute on function rowhouse.hold_new_nodes from public;
grant execute on function rowhouse.hold_new_nodes
  to rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- The rebalancer calls it before a service has excluded the node.
create or replace function rowhouse.may_have_shard(shard bigint, node integer) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.nodes where id = node)
$$;
alter function rowhouse.may_have_shard owner to rowhouse_owner;
revoke execute on function rowhouse.may_have_shard from public;
