/** Pages by cursor: no row is missed or repeated. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { type Page, request } from "./api.ts";

export function Pages() {
  const { data, fetchNextPage, hasNextPage } = useInfiniteQuery({
    queryKey: ["todos", "pages"],
    queryFn: ({ pageParam }) =>
      request<Page & { next: string | null }>(`/api/pages?after=${encodeURIComponent(pageParam)}`),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });
  return (
    <>
      <ol>
        {data?.pages.flatMap(({ rows }) => rows.map((todo) => <li key={todo.id}>{todo.title}</li>))}
      </ol>
      {hasNextPage && (
        <button type="button" onClick={() => void fetchNextPage()}>
          More
        </button>
      )}
    </>
  );
}
