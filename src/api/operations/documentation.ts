import { operation } from '../operation.ts'

export const DOCUMENTATION = {
  openApi: operation({
    method: 'GET',
    path: '/openapi.json',
    tag: 'Operation',
    summary: 'This description of everything that is served',
    access: 'everyone',
    answer: { status: 200, schema: null, media: 'application/json' },
  }),
} as const
