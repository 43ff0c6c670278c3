/** Keeps the newest lines in sight, until the reader scrolls away from them. */

const NEAR = 60; // Pixels from the end that still count as being there.

export class EndKeeper {
  #scroller;
  #latest;
  #following = true;

  constructor(scroller, latest) {
    this.#scroller = scroller;
    this.#latest = latest;
    scroller.addEventListener("scroll", () => this.#look(), { passive: true });
    latest.addEventListener("click", () => this.follow());
    const sizes = new ResizeObserver(() => (this.#following ? this.#toEnd() : this.#look()));
    sizes.observe(scroller);
    sizes.observe(scroller.firstElementChild);
  }

  /** Go to the end, and stay there while more comes. */
  follow() {
    this.#following = true;
    this.#toEnd();
  }

  #toEnd() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #look() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    this.#following = scrollHeight - scrollTop - clientHeight < NEAR;
    this.#latest.hidden = this.#following;
  }
}
