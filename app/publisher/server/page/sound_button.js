// Switches the sound of the camera that it follows on and off; there only where the camera has some. It begins silent.
import {el, icon} from './dom.js';

export class SoundButton {
  element = el('button', {class: 'button', type: 'button', hidden: true});
  #player = null;

  constructor() {
    this.element.addEventListener('click', () => {
      this.#player.setSound(!this.#player.hasSoundOn);
      this.show();
    });
    this.show();
  }

  // null: none. The one before is silent again.
  follow(player) {
    if (player === this.#player) return;
    this.#player?.setSound(false);
    this.#player = player;
    this.show();
  }

  // To be called when it may have changed what the player has.
  show() {
    const isOn = Boolean(this.#player?.hasSoundOn);
    const trouble = this.#player?.soundTrouble;
    this.element.hidden = !this.#player?.hasSound;
    const words = !isOn ? 'Unmute' : trouble ? `Mute; there is no sound: ${trouble}` : 'Mute';
    if (this.element.title === words) return;
    this.element.setAttribute('aria-label', words);
    this.element.title = words;
    this.element.replaceChildren(icon(isOn && !trouble ? 'sound' : 'muted'));
  }
}
