import type { Queryable } from './database.ts'
import { departmentsAbove } from './departments.ts'

/** SQL of the rights that come from the members `m`, with their enterprises `e`. */
const PLACES = `md5(string_agg(concat_ws(' ', m.enterprise_id, m.role, m.status, m.department_id, e.status,
    array_to_string(${departmentsAbove('m')}, '<')), ',' ORDER BY m.id))`

/**
 * Texts that change with what users and keys may use of tools: roles, places and `mcp_tools`. By `user:<id>` and `key:<id>`.
 */
export async function toolRightsVersions(
  queryable: Queryable,
  { userIds, keyIds }: { readonly userIds: readonly string[]; readonly keyIds: readonly string[] },
): Promise<ReadonlyMap<string, string>> {
  const rows = await queryable.query<{ subject: string; version: string }>(
    `SELECT 'user:' || u.id AS subject, concat_ws(' ', u.role, (
        SELECT ${PLACES} FROM members m JOIN enterprises e ON e.id = m.enterprise_id WHERE m.user_id = u.id)) AS version
      FROM users u WHERE u.id = ANY ($1::text[])
    UNION ALL
    SELECT 'key:' || k.id, concat_ws(' ', k.enterprise_id, k.department_id, k.member_id, k.user_id,
        array_to_string(${departmentsAbove('k')}, '<'), md5(array_to_string(k.mcp_tools, ',')), (
          SELECT ${PLACES} FROM members m JOIN enterprises e ON e.id = m.enterprise_id
            WHERE m.id = k.member_id OR (k.enterprise_id IS NULL AND m.user_id = k.user_id)))
      FROM entry_keys k WHERE k.id = ANY ($2::text[])`,
    [userIds, keyIds],
  )
  return new Map(rows.map(({ subject, version }) => [subject, version]))
}
