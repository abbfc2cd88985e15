/** Reads other queries again after each change of the table: the server sends only the position of the change. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useLive } from "rowhouse-client/react";

export function useRefresh() {
  const client = useQueryClient();
  const { page } = useLive("/api/changes");
  useEffect(() => {
    if (page !== undefined) void client.invalidateQueries({ queryKey: ["todos"] });
  }, [client, page]);
}
