import aws4 from 'aws4'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** The session token of temporary credentials; null: they are permanent. */
  readonly sessionToken: string | null
}

/** A request as it will be sent. */
export interface AwsRequest {
  readonly method: 'GET' | 'POST'
  /** Without a scheme; with the port unless it is the scheme's own. */
  readonly host: string
  /** As encoded on the wire; includes the query. */
  readonly path: string
  readonly region: string
  readonly service: string
  /** The headers to sign besides the host. */
  readonly headers: Readonly<Record<string, string>>
  /** The exact bytes to send. */
  readonly body: Buffer
}

/**
 * The headers that sign a request by AWS Signature Version 4. The caller sends them beside `request.headers`. They are valid for
 * some minutes around `now` (Unix ms), by the provider's clock.
 */
export function signAwsRequest(request: AwsRequest, credentials: AwsCredentials, now: number): Record<string, string> {
  const { method, host, path, region, service, body } = request
  const date = new Date(now).toISOString().replaceAll(/[:-]|\.\d{3}/g, '')
  const token = credentials.sessionToken === null ? null : { 'x-amz-security-token': credentials.sessionToken }
  const signed: Record<string, string> = { 'x-amz-date': date, ...token }
  const headers = { host, ...request.headers, ...signed }
  const { accessKeyId, secretAccessKey } = credentials
  const options = { method, host, path, region, service, headers, ...(body.length > 0 ? { body } : null) }
  // The session token is in the headers already. Given credentials stop the library from looking for its own.
  const result = aws4.sign(options, { accessKeyId, secretAccessKey }).headers ?? {}
  return { ...signed, authorization: String(result['Authorization']) }
}
