import { operation } from '../operation.ts'

export const DOCUMENTATION = {
  openApi: operation({
    method: 'GET',
    path: '/openapi.json',
    tag: 'Operation',
    summary: 'The OpenAPI document of everything that the gateway serves',
    access: 'everyone',
    answer: { status: 200, schema: null, media: 'application/json' },
  }),
  documentation: operation({
    method: 'GET',
    path: '/docs',
    tag: 'Operation',
    summary: 'The API page: the same to read and to try',
    access: 'everyone',
    answer: { status: 200, schema: null, media: 'text/html' },
  }),
  documentationFile: operation({
    method: 'GET',
    path: '/docs/{file}',
    tag: 'Operation',
    summary: 'A file of the API page',
    access: 'everyone',
    answer: { status: 200, schema: null, media: 'text/javascript' },
  }),
} as const
