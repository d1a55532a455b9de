/** What the sample's activities are to the tests: nothing happens. */
export function shipOrder(_order: string, _eventId: string): Promise<void> {
  return Promise.resolve();
}

export function cancelOrder(_order: string): Promise<void> {
  return Promise.resolve();
}
